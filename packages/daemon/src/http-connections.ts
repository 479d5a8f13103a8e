import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Connections at a time; beyond, the idlest of the client that has the most is closed. */
const MAX_CONNECTIONS = 64;
/** Further ones while all are busy and no client has more than the new one's; then the oldest of these is closed. */
const RESERVED_CONNECTIONS = 8;

interface Connection {
  readonly socket: Socket;
  readonly client: string;
  /** Requests that are not answered yet. */
  requests: number;
}

/**
 * Bounds the connections of an HTTP server. A new one always has a place, and long enough for a short answer:
 * so no number of idle, slow or deaf clients fails the kubelet's probes.
 */
export class HttpConnections {
  /** In order of last use, the longest unused first. */
  readonly #open = new Map<Socket, Connection>();

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => this.#admit(socket));
    server.on('request', ({ socket }, response) => {
      this.#use(socket, 1);
      response.once('close', () => this.#use(socket, -1));
    });
  }

  #admit(socket: Socket): void {
    const connection = { socket, client: socket.remoteAddress ?? '', requests: 0 };
    this.#open.set(socket, connection);
    socket.once('close', () => this.#open.delete(socket));
    if (this.#open.size <= MAX_CONNECTIONS) return;
    const displaced = this.#displacedBy(connection) ?? this.#oldestReserved();
    if (displaced === undefined) return;
    this.#open.delete(displaced.socket);
    displaced.socket.destroy();
  }

  #use(socket: Socket, requests: number): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    connection.requests += requests;
    this.#open.delete(socket);
    this.#open.set(socket, connection);
  }

  /** Of the client with the most connections the idlest; a busy one only if its client has more than the new one's. */
  #displacedBy(added: Connection): Connection | undefined {
    const counts = new Map<string, number>();
    for (const { client } of this.#open.values()) counts.set(client, (counts.get(client) ?? 0) + 1);
    let displaced: Connection | undefined;
    let highest = 0;
    for (const connection of this.#open.values()) {
      const isIdle = connection.requests === 0;
      const count = counts.get(connection.client)!;
      if (connection === added || (!isIdle && count <= counts.get(added.client)!)) continue;
      const rank = 2 * count + (isIdle ? 1 : 0);
      if (rank > highest) [displaced, highest] = [connection, rank];
    }
    return displaced;
  }

  #oldestReserved(): Connection | undefined {
    if (this.#open.size <= MAX_CONNECTIONS + RESERVED_CONNECTIONS) return undefined;
    return [...this.#open.values()].at(-1 - RESERVED_CONNECTIONS);
  }
}
