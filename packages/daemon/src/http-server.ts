import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { bindAddress, systemReason } from '@kube-dns/wire';
import express, { type ErrorRequestHandler, type Express } from 'express';

import { errorText, StartupError } from './errors.js';
import { formatHostPort } from './host-port.js';
import { HttpConnections } from './http-connections.js';
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

export interface HttpServerOptions {
  /**
   * An IP literal (IPv6 with or without brackets) or a host name of this machine; empty, `0.0.0.0` and `::` are every
   * address of both families, or of IPv4 alone where the system has no IPv6.
   */
  readonly host: string;
  readonly port: number;
  readonly log: Log;
  readonly routes: (app: Express) => void;
  /** What it serves, as messages name it: `metrics`. */
  readonly purpose: string;
}

/** The exit code of the Go programs when they cannot serve HTTP (klog's Fatal). */
const EXIT_CANNOT_LISTEN = 255;
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
  const { log, purpose } = options;
  const host = bindAddress(options.host);
  const server = createServer({
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  new HttpConnections(server, requestTurns(createApp(options)));
  server.setTimeout(SILENCE_TIMEOUT_MS);
  await listen(server, host, options);
  server.on('error', (error) => log.error(`${purpose}: ${error.message}`));

  let closed: Promise<void> | null = null;
  return {
    port: (server.address() as AddressInfo).port, // listening on TCP, so never a path
    close: () => (closed ??= closeServer(server)),
  };
}

function createApp({ routes, log, purpose }: HttpServerOptions): Express {
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

async function listen(server: Server, host: string, options: HttpServerOptions): Promise<void> {
  try {
    server.listen({ host, port: options.port });
    await once(server, 'listening'); // rejects on 'error'
  } catch (error) {
    // Without a host, as Go's `:53`: every address.
    const where = formatHostPort({ host, port: options.port });
    throw new StartupError(
      `${options.purpose}: cannot listen on ${where}: ${systemReason(error)}`,
      EXIT_CANNOT_LISTEN,
      { cause: error },
    );
  }
}

async function closeServer(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
