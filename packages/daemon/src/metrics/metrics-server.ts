import { errorText } from '../errors.js';
import type { HttpServer } from '../http-server.js';
import type { Log } from '../log.js';
import type { MetricFamily } from './metric-family.js';

export interface MetricsServerOptions {
  /** An IP literal or a host name of this machine; empty is every address of both families. */
  readonly host: string;
  /** 0 takes a free one, which the log names. */
  readonly port: number;
  readonly path: string;
  /** What is served beside the metrics of the process. */
  readonly families: readonly MetricFamily[];
  readonly log: Log;
  readonly retryMs?: number;
}

const RETRY_MS = 30_000;

/**
 * Serves metrics. A port that cannot be had is logged once and tried again: DNS goes on without.
 * What it takes to serve them, express and prom-client, is loaded by `start`: a program that serves
 * metrics on demand only does not pay before.
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
   * Resolves when the port is served, or after the first failure. Rejects only for families that no page
   * can show: a name that no metric can have, or one that is used twice.
   */
  async start(): Promise<void> {
    const { host, port, path, families, log, retryMs = RETRY_MS } = this.#options;
    const { startHttpServer } = await import('../http-server.js');
    const { metricsHandler } = await import('./exposition.js');
    const handler = metricsHandler(families);
    try {
      const server = await startHttpServer({
        host,
        port,
        log,
        purpose: 'metrics',
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
