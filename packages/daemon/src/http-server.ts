import express, { type ErrorRequestHandler, type Express } from 'express';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { errorText } from '@kube-dns/base';
import { descriptorShare } from '@kube-dns/transport';
import { type ListenAddress, listenTcp } from './listen-tcp.js';
import type { Log } from './log.js';

export type { Express, RequestHandler } from 'express';

/** A running HTTP server. */
export interface HttpServer {
  /** The port that it listens on; for port 0, the one that the system chose. */
  readonly port: number;
  /** Ends every connection, idle or not. May be called twice. */
  close(): Promise<void>;
}

/** What an HTTP server answers. */
interface HttpContent {
  readonly log: Log;
  readonly routes: (app: Express) => void;
  /** As of `ListenAddress`. */
  readonly purpose: string;
}

export type HttpServerOptions = HttpContent & ListenAddress;

const HEADERS_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_TIMEOUT_MS = 15_000;
/** A connection without a byte in either direction for this long is closed: its client does not read. */
const SILENCE_TIMEOUT_MS = 30_000;
/** How late the time-outs of headers and requests may be noticed. */
const CHECK_INTERVAL_MS = 250;
const MAX_HEADER_BYTES = 16 * 1024;

/**
 * Serves `routes` over HTTP; paths match exactly, as in Go, and an unknown one is Go's plain 404.
 * Connections, headers and waiting times are limited. When it cannot listen it rejects with a
 * StartupError that names the purpose, the address and the reason.
 */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { server, close } = createHttpServer(options);
  return { port: await listenTcp(server, options), close };
}

/** The same server, which does not listen yet. */
export function createHttpServer(content: HttpContent): {
  server: Server;
  close: () => Promise<void>;
} {
  const { log, purpose } = content;
  const server = createServer({
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  new HttpConnections(server, requestTurns(createApp(content)));
  server.setTimeout(SILENCE_TIMEOUT_MS);
  server.on('listening', () => {
    server.on('error', (error) => log.error(`${purpose}: ${error.message}`));
  });
  let closed: Promise<void> | null = null;
  return { server, close: () => (closed ??= closeServer(server)) };
}

function createApp({ routes, log, purpose }: HttpContent): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  routes(app);
  app.use((_request, response) => {
    response
      .status(404)
      .set('X-Content-Type-Options', 'nosniff')
      .type('text/plain')
      .send('404 page not found\n');
  });
  app.use(createErrorHandler(log, purpose));
  return app;
}

function createErrorHandler(log: Log, purpose: string): ErrorRequestHandler {
  // Express recognizes an error handler by its four parameters.
  return (error: unknown, request, response, _next) => {
    const status = clientStatus(error);
    if (status === null) log.error(`${purpose}: ${request.path}: ${errorText(error)}`);
    if (response.headersSent) {
      response.destroy();
      return;
    }
    response
      .status(status ?? 500)
      .type('text/plain')
      .send(status === null ? 'internal server error\n' : 'bad request\n');
  };
}

/** The status of an error that the client caused (a path that cannot be decoded), otherwise null. */
function clientStatus(error: unknown): number | null {
  const status =
    typeof error === 'object' && error !== null && 'status' in error ? error.status : null;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : null;
}

async function closeServer(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Connections at a time; beyond, the longest unused of the client that has the most is closed. */
const MAX_CONNECTIONS = 64;
/** Of the descriptors of the process. */
const SHARE_OF_DESCRIPTORS = 1 / 16;
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
class HttpConnections {
  /** In order of last use, the longest unused first. */
  readonly #open = new Map<Socket, Connection>();
  readonly #max = descriptorShare(MAX_CONNECTIONS, SHARE_OF_DESCRIPTORS);
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
    if (this.#open.size > this.#max) this.#end(this.#evicted());
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

  #evicted(): Socket {
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

/**
 * Passes requests on one by one, each in its own turn of the event loop: requests that arrive together leave the
 * other work of the process its turns. A request whose connection is closed before is dropped and takes no turn.
 */
function requestTurns(handle: RequestListener): RequestListener {
  const waiting: [IncomingMessage, ServerResponse][] = [];
  const passNext = () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (next[0].socket.destroyed) continue;
      handle(...next);
      break;
    }
    if (waiting.length > 0) setImmediate(passNext);
  };
  return (request, response) => {
    if (waiting.push([request, response]) === 1) setImmediate(passNext);
  };
}
