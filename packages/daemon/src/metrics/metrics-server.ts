import { once } from 'node:events';
import type { Server as ServerOfHttp } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { errorText } from '@kube-dns/base';
import type { HttpServer } from '../http-server.js';
import { type ListenAddress, listenTcp } from '../listen-tcp.js';
import type { LocalPage } from '../local/local-page.js';
import type { Log } from '../log.js';
import type { MetricFamily } from './metric-family.js';

export interface MetricsServerOptions {
  /** An IP literal or a host name of this machine; empty is every address of both families. */
  readonly host: string;
  /** 0 selects a free port, which the log names. */
  readonly port: number;
  readonly path: string;
  /** Served in addition to the metrics of the process. */
  readonly families: readonly MetricFamily[];
  /** JSON by path, made at each request. */
  readonly pages?: ReadonlyMap<string, () => string>;
  /** Pages for this machine and this pod alone, by path. */
  readonly localPages?: ReadonlyMap<string, LocalPage>;
  /** Paths of those that every client gets. */
  readonly openPaths?: ReadonlySet<string>;
  readonly log: Log;
  readonly retryMs?: number;
  /** Loads what it serves with at the first connection, not at the start. */
  readonly isOnDemand?: boolean;
}

const PURPOSE = 'metrics';
const RETRY_MS = 30_000;

/**
 * Serves metrics and pages. A port that cannot be opened is logged once and retried: DNS works without it.
 * Loads express and prom-client when it starts, or at the first connection.
 */
export class MetricsServer {
  readonly #options: MetricsServerOptions;
  #server: HttpServer | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #hasFailed = false;

  constructor(options: MetricsServerOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the port is open, or after the first failure. Rejects only for families with an invalid
   * or duplicate name, unless these are loaded later.
   */
  async start(): Promise<void> {
    const { path, isOnDemand = false, log, retryMs = RETRY_MS } = this.#options;
    const load = isOnDemand ? () => this.#load() : await this.#loaded();
    try {
      const server = await startLateHttpServer({ ...this.#options, purpose: PURPOSE, load });
      if (this.#isClosed) {
        await server.close();
        return;
      }
      this.#server = server;
      log.info(`serving ${path} on port ${server.port}`);
    } catch (error) {
      if (this.#isClosed) return;
      if (!this.#hasFailed) log.warn(`${errorText(error)}; continuing without metrics, retrying`);
      this.#hasFailed = true;
      this.#timer = setTimeout(() => void this.start(), retryMs).unref();
    }
  }

  /** Loads now what a connection needs later. */
  async #loaded(): Promise<LateHttpServerOptions['load']> {
    const loaded = await this.#load();
    return () => Promise.resolve(loaded);
  }

  async #load(): ReturnType<LateHttpServerOptions['load']> {
    const { path, families, pages, log, openPaths } = this.#options;
    const { localPages } = await import('../local/local-page.js');
    const { createHttpServer } = await import('../http-server.js');
    const { metricsHandler } = await import('./exposition.js');
    const handler = metricsHandler(families);
    const localHandler = localPages(this.#options.localPages ?? new Map(), openPaths);
    return createHttpServer({
      log,
      purpose: PURPOSE,
      // Not a route: the path may hold characters that have a meaning in a pattern.
      routes: (app) =>
        app.use(async (request, response, next) => {
          const page = pages?.get(request.path);
          if (request.path === path) await handler(request, response, next);
          else if (page === undefined) await localHandler(request, response, next);
          else response.type('application/json').send(page());
        }),
    });
  }

  /** May be called twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#server?.close();
  }
}

interface LateHttpServerOptions extends ListenAddress {
  readonly log: Log;
  /** Loads and creates the server, which does not listen yet. */
  readonly load: () => Promise<{ server: ServerOfHttp; close: () => Promise<void> }>;
}

/** Connections that wait while the server is loaded; further ones are closed. */
const MAX_WAITING = 64;

/**
 * An HTTP server that is loaded at its first connection: Node's HTTP and express need some 20 MiB, and a port that only
 * somebody with a question asks shall not cost them. Rejects with a StartupError when it cannot listen.
 */
async function startLateHttpServer(options: LateHttpServerOptions): Promise<HttpServer> {
  const { log, load, purpose } = options;
  const early = createServer({ pauseOnConnect: true });
  const waiting: Socket[] = [];
  let late: ReturnType<typeof load> | undefined;
  let isClosed = false;

  const take = async () => {
    try {
      const { server, close } = await (late = load());
      if (isClosed) {
        await close();
        return;
      }
      // From now on the server accepts on the same socket, with its limits.
      server.listen(early);
      await once(server, 'listening');
      for (const socket of waiting.splice(0)) {
        server.emit('connection', socket);
        socket.resume();
      }
    } catch (error) {
      late = undefined;
      log.error(`${purpose}: ${errorText(error)}`);
      for (const socket of waiting.splice(0)) socket.destroy();
    }
  };
  early.on('connection', (socket: Socket) => {
    socket.on('error', () => socket.destroy());
    if (isClosed || waiting.length >= MAX_WAITING) socket.destroy();
    else if (waiting.push(socket) === 1 && late === undefined) void take();
  });
  const port = await listenTcp(early, options);
  early.on('error', (error) => log.error(`${purpose}: ${error.message}`));
  return {
    port,
    close: async () => {
      isClosed = true;
      for (const socket of waiting.splice(0)) socket.destroy();
      await (await late?.catch(() => undefined))?.close();
      if (early.listening) early.close();
    },
  };
}
