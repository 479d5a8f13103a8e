import { createServer, type Server } from 'node:http';
import express, { type ErrorRequestHandler, type Express } from 'express';

import { errorText } from '@kube-dns/base';
import { HttpConnections } from './http-connections.js';
import { type ListenAddress, listenTcp } from './listen-tcp.js';
import type { Log } from './log.js';
import { requestTurns } from './request-turns.js';

export type { Express, RequestHandler } from 'express';

/** A running HTTP server. */
export interface HttpServer {
  /** The port that it listens on; for port 0, the one that the system chose. */
  readonly port: number;
  /** Ends every connection, idle or not. May be called twice. */
  close(): Promise<void>;
}

/** What an HTTP server answers. */
export interface HttpContent {
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
  // eslint-disable-next-line @typescript-eslint/no-unused-vars -- see above
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
