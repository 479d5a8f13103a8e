import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Connections at a time; beyond, the longest unused of the client that has the most is closed. */
const MAX_CONNECTIONS = 64;
/** Of answers that their clients have not read, together; beyond, the oldest of their connections are closed. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;
/** Node parses all requests of a chunk of 64 KiB, a thousand of them, in one go; so it gets small ones. */
const PIECE_BYTES = 512;

interface Connection {
  readonly client: string;
  /** A request is not answered yet, or the answer is not read. */
  isBusy: boolean;
}

/**
 * Bounds the connections of an HTTP server, their requests and their unread answers. A new connection always has
 * a place, long enough for a short answer, so no number of idle, slow or deaf clients fails the kubelet's probes.
 * A second request before the first is answered closes its connection (RFC 9112 section 9.3.2).
 */
export class HttpConnections {
  /** In order of last use, the longest unused first. */
  readonly #open = new Map<Socket, Connection>();
  readonly #handle: RequestListener;

  constructor(server: Server, handle: RequestListener) {
    this.#handle = handle;
    server.on('connection', (socket: Socket) => this.#admit(socket));
    server.on('request', (request, response) => this.#begin(request, response));
  }

  #admit(socket: Socket): void {
    this.#open.set(socket, { client: socket.remoteAddress ?? '', isBusy: false });
    socket.once('close', () => this.#open.delete(socket));
    readInPieces(socket);
    if (this.#open.size > MAX_CONNECTIONS) this.#end(this.#displaced());
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const connection = this.#open.get(socket);
    if (connection === undefined || connection.isBusy) {
      this.#end(socket);
      return;
    }
    this.#boundUnread();
    this.#use(socket, connection, true);
    response.once('close', () => this.#use(socket, connection, false));
    this.#handle(request, response);
  }

  #use(socket: Socket, connection: Connection, isBusy: boolean): void {
    connection.isBusy = isBusy;
    if (this.#open.delete(socket)) this.#open.set(socket, connection);
  }

  #end(socket: Socket): void {
    this.#open.delete(socket);
    socket.destroy();
  }

  #displaced(): Socket {
    const counts = new Map<string, number>();
    for (const { client } of this.#open.values()) counts.set(client, (counts.get(client) ?? 0) + 1);
    const most = Math.max(...counts.values());
    return [...this.#open].find(([, { client }]) => counts.get(client) === most)![0];
  }

  #boundUnread(): void {
    let unread = 0;
    for (const socket of [...this.#open.keys()].reverse()) {
      unread += socket.writableLength;
      if (socket.writableLength > 0 && unread > MAX_UNREAD_BYTES) this.#end(socket);
    }
  }
}

/** Passes what is read on to the listeners of the HTTP server in pieces, until one of them ends the connection. */
function readInPieces(socket: Socket): void {
  const listeners = socket.listeners('data') as ((chunk: Buffer) => void)[];
  socket.removeAllListeners('data');
  socket.on('data', (chunk: Buffer) => {
    for (let at = 0; at < chunk.length && !socket.destroyed; at += PIECE_BYTES) {
      const piece = chunk.subarray(at, at + PIECE_BYTES);
      for (const listener of listeners) listener.call(socket, piece);
    }
  });
}
