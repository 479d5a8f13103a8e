import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

interface Flow {
  readonly socket: Socket;
  readonly endpoint: number;
  isUsed: boolean;
}

const HOST = '127.0.0.1';
const RECEIVE_BYTES = 4 * 1024 * 1024;
/** A flow that is silent for so long is forgotten (nf_conntrack_udp_timeout). */
const IDLE_MS = 30_000;

/** Addresses are literal here: nothing is to be looked up per datagram. */
function literal(
  host: string,
  _: unknown,
  done: (error: null, address: string, family: number) => void,
): void {
  done(null, host, 4);
}

function openSocket(): Socket {
  const socket = createSocket({ type: 'udp4', recvBufferSize: RECEIVE_BYTES, lookup: literal });
  // What cannot be delivered is lost, as on a network.
  return socket.on('error', () => undefined);
}

/** Flows of UDP from clients of this machine to endpoints of this machine, each with a port of its own. */
export class UdpFlows {
  datagrams = 0;
  cutFlows = 0;
  readonly #choose: () => number | undefined;
  readonly #front = openSocket();
  /** By the client's port: all clients have the same address. */
  readonly #flows = new Map<number, Flow>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** `choose` says where a new flow goes; undefined: nowhere. */
  constructor(choose: () => number | undefined) {
    this.#choose = choose;
  }

  get flows(): number {
    return this.#flows.size;
  }

  /** Rejects with the system's error. */
  async open(port: number): Promise<void> {
    this.#front.bind({ port, address: HOST, exclusive: true });
    await once(this.#front, 'listening');
    this.#front.on('message', (message, client) => this.#forward(message, client.port));
    this.#timer = setInterval(() => this.#forgetIdle(), IDLE_MS);
  }

  /** Forgets flows to other endpoints. */
  keepOnly(endpoints: readonly number[]): void {
    for (const [client, flow] of this.#flows) {
      if (endpoints.includes(flow.endpoint)) continue;
      this.cutFlows++;
      this.#forget(client, flow);
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const [client, flow] of this.#flows) this.#forget(client, flow);
    this.#front.close();
  }

  #forward(message: Buffer, client: number): void {
    this.datagrams++;
    let flow = this.#flows.get(client);
    if (flow === undefined) {
      const endpoint = this.#choose();
      if (endpoint === undefined) return;
      flow = this.#openFlow(client, endpoint);
    }
    flow.isUsed = true;
    flow.socket.send(message, flow.endpoint, HOST);
  }

  #openFlow(client: number, endpoint: number): Flow {
    const flow = { socket: openSocket(), endpoint, isUsed: true };
    flow.socket.on('message', (message, { port }) => {
      if (port === endpoint) this.#front.send(message, client, HOST);
    });
    this.#flows.set(client, flow);
    return flow;
  }

  #forgetIdle(): void {
    for (const [client, flow] of this.#flows) {
      if (!flow.isUsed) this.#forget(client, flow);
      flow.isUsed = false;
    }
  }

  #forget(client: number, flow: Flow): void {
    this.#flows.delete(client);
    flow.socket.close();
  }
}
