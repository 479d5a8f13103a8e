import {
  errorText,
  type HttpServer,
  type Log,
  metricsHandler,
  type Registry,
  startHttpServer,
} from '@kube-dns/daemon';
import { ANY_HOST } from './any-host.js';
import type { MetricsEnvironment } from './metrics-environment.js';

export interface MetricsServerOptions {
  readonly environment: Pick<MetricsEnvironment, 'port' | 'path'>;
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
    const { environment, registry, log, retryMs = RETRY_MS } = this.#options;
    const handler = metricsHandler(registry);
    try {
      const server = await startHttpServer({
        host: ANY_HOST,
        port: environment.port,
        log,
        what: 'metrics',
        // Not a route: its path may hold what means something in a pattern.
        routes: (app) =>
          app.use((request, response, next) =>
            request.path === environment.path ? handler(request, response, next) : next(),
          ),
      });
      if (this.#isClosed) {
        await server.close();
        return;
      }
      this.#server = server;
      log.info(`serving ${environment.path} on port ${server.port}`);
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
