import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { isIPv6, type AddressInfo } from 'node:net';
import { codeOf, ListenError, messageOf } from '../errors.js';

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);
/** How long a connection may be idle; a shorter time would race with the client's next request. */
const KEEP_ALIVE_MS = 120_000;
const MAX_CONNECTIONS = 4096;

/** A port on which HTTP is served, which can be closed and opened again. */
export class Listener {
  readonly #server: Server;
  /** The address as it was given. */
  readonly host: string;
  #port = 0;

  private constructor(host: string) {
    this.host = host;
    this.#server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS });
    this.#server.maxConnections = MAX_CONNECTIONS;
  }

  /** Rejects with a {@link ListenError} when it cannot listen. Port 0: any free port. */
  static async open(host: string, port: number): Promise<Listener> {
    const listener = new Listener(host);
    listener.#port = await listener.#listen(port);
    return listener;
  }

  get port(): number {
    return this.#port;
  }

  /** The address at which clients on this machine reach the server. */
  get address(): string {
    return WILDCARDS.has(this.host) ? '127.0.0.1' : this.host;
  }

  get url(): string {
    const { address } = this;
    return `http://${isIPv6(address) ? `[${address}]` : address}:${this.#port}`;
  }

  serve(listener: RequestListener): void {
    this.#server.on('request', listener);
  }

  /** Listens again after `close`, on the same port. */
  async reopen(): Promise<void> {
    await this.#listen(this.#port);
  }

  /** Refuses new connections at once, and breaks the others after `lastWords`. */
  async close(lastWords?: Promise<unknown>): Promise<void> {
    const isClosed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await lastWords;
    this.#server.closeAllConnections();
    await isClosed;
  }

  async #listen(port: number): Promise<number> {
    try {
      // Without a host: every address of both families, as Go's net.Listen takes either wildcard.
      this.#server.listen(port, WILDCARDS.has(this.host) ? '' : this.host);
      await once(this.#server, 'listening');
    } catch (error) {
      const isInUse = codeOf(error) === 'EADDRINUSE';
      const reason = isInUse ? 'address already in use' : messageOf(error);
      throw new ListenError(`cannot listen on ${this.host}:${port}: ${reason}`, { cause: error });
    }
    return (this.#server.address() as AddressInfo).port;
  }
}
