import { errorText } from '../errors.js';
import type { HttpServer } from '../http-server.js';
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
  readonly log: Log;
  readonly retryMs?: number;
}

const RETRY_MS = 30_000;

/**
 * Serves metrics. A port that cannot be opened is logged once and retried: DNS works without it.
 * `start` loads express and prom-client: a program that serves metrics only on demand does not pay
 * for them before.
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
   * or duplicate name.
   */
  async start(): Promise<void> {
    const { host, port, path, families, pages, log, retryMs = RETRY_MS } = this.#options;
    const { startHttpServer } = await import('../http-server.js');
    const { metricsHandler } = await import('./exposition.js');
    const handler = metricsHandler(families);
    try {
      const server = await startHttpServer({
        host,
        port,
        log,
        purpose: 'metrics',
        // Not a route: the path may hold characters that have a meaning in a pattern.
        routes: (app) =>
          app.use(async (request, response, next) => {
            const page = pages?.get(request.path);
            if (request.path === path) await handler(request, response, next);
            else if (page === undefined) next();
            else response.type('application/json').send(page());
          }),
      });
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

  /** May be called twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#server?.close();
  }
}
