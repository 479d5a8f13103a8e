import { descriptorShare } from '../descriptor-limit.js';
import type { ConnectionShare } from './connection.js';
import { HandshakePlaces } from './handshake-places.js';
import { ServerConnections, type ServerConnectionsOptions } from './server-connections.js';

/** So a query that waits for a connection is noticed within 50 ms. */
const TICK_MS = 25;
/** Connections to all servers together. */
const MAX_CONNECTIONS = 128;
const SHARE_OF_DESCRIPTORS = 1 / 16;

export interface EncryptedServersOptions {
  /** Milliseconds that never fall. */
  readonly now: () => number;
  /** Milliseconds since the epoch. */
  readonly wallNow: () => number;
  /** Runs `work`, which answers clients; the answers leave together where possible. */
  readonly together: (work: () => void) => void;
}

/** What the connections to all encrypted servers share: the turns of handshakes, the clock, and the end of each turn. */
export class EncryptedServers implements ConnectionShare {
  readonly handshakes: HandshakePlaces;
  nowMs: number;
  /** Milliseconds since the epoch. */
  readonly wallNow: () => number;
  readonly #now: () => number;
  readonly #max = descriptorShare(MAX_CONNECTIONS, SHARE_OF_DESCRIPTORS);
  readonly #servers = new Set<ServerConnections>();
  #timer: NodeJS.Timeout | undefined;
  #unflushed: { flush(): void }[] = [];
  #unread: { read(): void }[] = [];
  readonly #flushAll = () => this.#flush();
  readonly #readAll: () => void;

  constructor({ now, wallNow, together }: EncryptedServersOptions) {
    this.#now = now;
    this.wallNow = wallNow;
    const read = () => this.#read();
    this.#readAll = () => together(read);
    this.nowMs = now();
    this.handshakes = new HandshakePlaces(now);
  }

  /** The connections to one server; several objects for one server are independent. */
  connectionsTo(options: ServerConnectionsOptions): ServerConnections {
    const server = new ServerConnections(this, options);
    this.#servers.add(server);
    return server;
  }

  /** Ends every connection. May be called twice. */
  close(): void {
    this.#rest();
    for (const server of this.#servers) server.destroy();
    this.#servers.clear();
  }

  /** Does what is due; called by a timer. */
  tick(): void {
    this.nowMs = this.#now();
    this.handshakes.tick();
    let isUnused = true;
    for (const server of this.#servers) {
      server.tick(this.nowMs);
      if (!server.isUnused) isUnused = false;
      if (server.isOver) this.#servers.delete(server);
    }
    if (isUnused) this.#rest();
  }

  /** For ServerConnections: the clock runs from now on. */
  wake(): void {
    if (this.#timer !== undefined) return;
    this.nowMs = this.#now();
    this.#timer = setInterval(() => this.tick(), TICK_MS).unref();
  }

  /** For ServerConnections: whether one more connection may be opened; an idle one of another server gives way. */
  mayOpen(): boolean {
    let count = 0;
    for (const { size } of this.#servers) count += size;
    if (count < this.#max) return true;
    for (const server of this.#servers) if (server.closeIdle()) return true;
    return false;
  }

  flushLater(carrier: { flush(): void }): void {
    if (this.#unflushed.length === 0) setImmediate(this.#flushAll);
    this.#unflushed.push(carrier);
  }

  readLater(carrier: { read(): void }): void {
    if (this.#unread.length === 0) setImmediate(this.#readAll);
    this.#unread.push(carrier);
  }

  #read(): void {
    const carriers = this.#unread;
    this.#unread = [];
    for (const carrier of carriers) carrier.read();
  }

  #flush(): void {
    const carriers = this.#unflushed;
    this.#unflushed = [];
    for (const carrier of carriers) carrier.flush();
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
