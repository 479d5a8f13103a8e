import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** What becomes of a connection to the API server. */
type Mode = 'pass' | 'hang' | 'reset';

/**
 * Any address of loopback will do; one that no other program uses keeps its port free while the front is
 * gone, where one of 127.0.0.1 may become that of some client.
 */
function ownAddress(): string {
  const byte = () => 1 + Math.floor(Math.random() * 254);
  return `127.${byte()}.${byte()}.${byte()}`;
}

/** The address of the API server for kubedns, with the network faults on the way to it. */
export class ApiFront {
  readonly #address = ownAddress();
  readonly #pairs = new Map<Socket, Socket | undefined>();
  #server: Server | undefined;
  #port = 0;
  #mode: Mode = 'pass';
  /** Port of 127.0.0.1 that connections are passed on to. */
  target = 0;

  /** Listens in front of a port of 127.0.0.1. */
  static async start(target: number): Promise<ApiFront> {
    const front = new ApiFront();
    front.target = target;
    await front.open();
    return front;
  }

  get url(): string {
    return `http://${this.#address}:${this.#port}`;
  }

  /** Takes connections, at the same port as ever. */
  async open(): Promise<void> {
    if (this.#server) return;
    const server = createServer((socket) => this.#take(socket)).listen(this.#port, this.#address);
    this.#server = server;
    await once(server, 'listening');
    this.#port = (server.address() as AddressInfo).port;
  }

  /** Ends every connection and refuses new ones. May be called twice. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.#breakAll();
    if (server) await new Promise((resolve) => server.close(resolve));
  }

  /** Resets every connection; new ones are taken. */
  cut(): void {
    this.#breakAll();
  }

  /** Everything that was held back goes on. */
  pass(): void {
    this.#mode = 'pass';
    for (const [client, upstream] of this.#pairs) {
      if (upstream) for (const socket of [client, upstream]) socket.resume();
      else this.#join(client);
    }
  }

  /** Connections are accepted and stay open, and nothing is answered on any of them. */
  hang(): void {
    this.#mode = 'hang';
    for (const [client, upstream] of this.#pairs) {
      client.pause();
      upstream?.pause();
    }
  }

  /** Every connection is reset, now and as soon as it is made. */
  reset(): void {
    this.#mode = 'reset';
    this.#breakAll();
  }

  #take(client: Socket): void {
    client.on('error', () => undefined);
    if (this.#mode === 'reset') {
      client.resetAndDestroy();
      return;
    }
    this.#pairs.set(client, undefined);
    client.once('close', () => {
      this.#pairs.get(client)?.destroy();
      this.#pairs.delete(client);
    });
    if (this.#mode === 'pass') this.#join(client);
  }

  #join(client: Socket): void {
    const upstream = connect(this.target, '127.0.0.1');
    this.#pairs.set(client, upstream);
    upstream.on('error', () => client.destroy());
    upstream.once('close', () => client.destroy());
    // Not pipe(): it would continue after `hang`.
    client.on('data', (bytes) => upstream.write(bytes));
    upstream.on('data', (bytes) => client.write(bytes));
  }

  #breakAll(): void {
    for (const [client, upstream] of this.#pairs) {
      // A reset that meets a FIN on its way fails in libuv, and Node 24 then never ends.
      if (client.writableEnded) client.destroy();
      else client.resetAndDestroy();
      upstream?.destroy();
    }
    this.#pairs.clear();
  }
}
