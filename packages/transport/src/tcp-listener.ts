import { once } from 'node:events';
import { createServer, isIPv6, type Server, type Socket } from 'node:net';
import { EVERY_ADDRESS, unmappedAddress } from '@kube-dns/wire';
import type { ListenerCounters } from './counters.js';
import { descriptorShare } from './descriptor-limit.js';
import type { MessageHandler } from './message-handler.js';
import { TcpConnection } from './tcp-connection.js';
import { TcpShares } from './tcp-shares.js';

export interface TcpLimits {
  /**
   * Open connections at the same time; beyond, the longest idle one is closed. At most half
   * of the descriptors that the process may have.
   */
  readonly maxConnections: number;
  /** A connection without traffic for this long is closed. */
  readonly idleTimeoutMs: number;
}

/** Of the descriptors of the process: upstream servers, files and metrics need some too. */
const SHARE_OF_DESCRIPTORS = 1 / 2;

/** Accepts DNS over TCP and passes the queries to a handler. */
export class TcpListener {
  readonly #handler: MessageHandler;
  readonly #limits: TcpLimits;
  readonly #maxConnections: number;
  readonly #counters: ListenerCounters;
  readonly #server: Server;
  /** Set once it accepts no further connections. */
  #closed: Promise<unknown> | undefined;
  readonly #shares = new TcpShares();
  /** In order of last use, the longest unused first. */
  readonly #connections = new Map<Socket, TcpConnection>();

  constructor(handler: MessageHandler, limits: TcpLimits, counters: ListenerCounters) {
    this.#handler = handler;
    this.#limits = limits;
    this.#maxConnections = descriptorShare(limits.maxConnections, SHARE_OF_DESCRIPTORS);
    this.#counters = counters;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      this.#accept(socket);
    });
  }

  /** Binds; rejects with the system's error. `reusesPort` is that of a `DatagramSocket`. */
  async open(address: string, port: number, reusesPort = false): Promise<void> {
    const host = address === EVERY_ADDRESS ? '::' : address;
    const ipv6Only = isIPv6(address);
    this.#server.listen({ host, port, ipv6Only, exclusive: true, reusePort: reusesPort });
    await once(this.#server, 'listening');
    this.#server.on('error', () => this.#counters.tcpRefused++);
  }

  /** Accepts no further connections; open ones are still served. */
  stopAccepting(): void {
    if (!this.#server.listening) return;
    this.#closed = once(this.#server, 'close');
    this.#server.close();
  }

  /** Resolves when the received queries of every connection are answered and it is ended. */
  async endConnections(): Promise<void> {
    await Promise.all(Array.from(this.#connections.values(), (connection) => connection.end()));
  }

  async close(): Promise<void> {
    this.stopAccepting();
    for (const socket of this.#connections.keys()) socket.destroy();
    await this.#closed;
  }

  #accept(socket: Socket): void {
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#connections.delete(socket));
    const isFull = this.#connections.size >= this.#maxConnections;
    const client = unmappedAddress(socket.remoteAddress ?? '');
    if (isFull && !this.#closeIdlest() && !this.#closeOfGreediest(client)) {
      this.#counters.tcpRefused++;
      socket.destroy();
      return;
    }
    this.#counters.tcpConnections++;
    this.#counters.tcpOpen++;
    socket.on('close', () => this.#counters.tcpOpen--);
    const connection = new TcpConnection(socket, this.#handler, this.#shares, () => {
      this.#counters.tcpRefused++;
    });
    this.#connections.set(socket, connection);
    socket.on('data', () => {
      this.#connections.delete(socket);
      this.#connections.set(socket, connection);
    });
    socket.setTimeout(this.#limits.idleTimeoutMs, () => {
      this.#counters.tcpIdleClosed++;
      socket.destroy();
    });
  }

  /**
   * Closes the oldest connection of the client that has most of them, all busy; false when it has no more than a
   * tenth, or the new connection is its own.
   */
  #closeOfGreediest(newClient: string): boolean {
    const counts = new Map<string, number>();
    let greediest = '';
    for (const { address } of this.#connections.values()) {
      const count = (counts.get(address) ?? 0) + 1;
      counts.set(address, count);
      if (count > (counts.get(greediest) ?? 0)) greediest = address;
    }
    const isFair = (counts.get(greediest) ?? 0) <= this.#maxConnections / 10;
    if (isFair || greediest === newClient) return false;
    for (const [socket, { address }] of this.#connections) {
      if (address !== greediest) continue;
      this.#close(socket);
      return true;
    }
    return false;
  }

  #close(socket: Socket): void {
    this.#counters.tcpRefused++;
    this.#connections.delete(socket);
    socket.destroy();
  }

  /** Closes the longest idle connection; false when every one waits for an answer. */
  #closeIdlest(): boolean {
    for (const [socket, connection] of this.#connections) {
      if (connection.isBusy()) continue;
      this.#close(socket);
      return true;
    }
    return false;
  }
}
