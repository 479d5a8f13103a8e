import { errorText } from './errors.js';
import { type HttpServer, startHttpServer } from './http-server.js';
import type { Log } from './log.js';
import { metricsHandler, type Registry } from './metrics.js';

export interface MetricsServerOptions {
  /** An IP literal or a host name of this machine; empty is every address of both families. */
  readonly host: string;
  /** 0 takes a free one, which the log says. */
  readonly port: number;
  readonly path: string;
  readonly registry: Registry;
  readonly log: Log;
  readonly retryMs?: number;
}

const RETRY_MS = 30_000;

/** Serves the metrics. A port that cannot be had is logged once and tried again: DNS goes on without. */
export class MetricsServer {
  readonly #options: MetricsServerOptions;
  #server: HttpServer | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #hasFailed = false;

  constructor(options: MetricsServerOptions) {
    this.#options = options;
  }

  /** Resolves when the port is served, or after the first failure. Never rejects. */
  async start(): Promise<void> {
    const { host, port, path, registry, log, retryMs = RETRY_MS } = this.#options;
    const handler = metricsHandler(registry);
    try {
      const server = await startHttpServer({
        host,
        port,
        log,
        what: 'metrics',
        // Not a route: its path may hold what means something in a pattern.
        routes: (app) =>
          app.use((request, response, next) =>
            request.path === path ? handler(request, response, next) : next(),
          ),
      });
      if (this.#isClosed) {
        await server.close();
        return;
      }
      this.#server = server;
      log.info(`serving ${path} on port ${server.port}`);
    } catch (error) {
      if (this.#isClosed) return;
      if (!this.#hasFailed) log.warn(`${errorText(error)}; going on without, trying again`);
      this.#hasFailed = true;
      this.#timer = setTimeout(() => void this.start(), retryMs).unref();
    }
  }

  /** May be called twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#server?.close();
  }
}
