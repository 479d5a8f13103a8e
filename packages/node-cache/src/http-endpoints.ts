import { errorText, formatHostPort } from '@kube-dns/base';
import {
  type HttpServer,
  type Log,
  MetricsServer,
  type MetricsServerOptions,
  startHttpServer,
} from '@kube-dns/daemon';
import type { HttpAddress, ServerBlock } from './corefile/server-block.js';

interface HealthEndpointsOptions {
  readonly isReady: () => boolean;
  readonly log: Log;
  readonly retryMs?: number;
}

/** The process that this one replaces has the ports until it has ended. */
const RETRY_MS = 1_000;

interface Endpoint {
  readonly address: HttpAddress;
  server: HttpServer | undefined;
  isOpening: boolean;
}

/**
 * Serves `/health` (200 while the process works) and `/ready` (200 while it answers, and is not about to end) where
 * `health` and `ready` of the Corefile say; both paths at each address. A port that is taken is tried again.
 */
export class HealthEndpoints {
  readonly #options: HealthEndpointsOptions;
  #endpoints = new Map<string, Endpoint>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HealthEndpointsOptions) {
    this.#options = options;
  }

  /** Serves where these blocks say, from now on. */
  async serve(blocks: readonly ServerBlock[]): Promise<void> {
    const before = this.#endpoints;
    this.#endpoints = new Map();
    const addresses = blocks.flatMap(({ health, ready }) => [health, ready]);
    for (const address of addresses) {
      if (address === undefined) continue;
      const key = formatHostPort(address);
      if (this.#endpoints.has(key)) continue;
      const endpoint = before.get(key) ?? { address, server: undefined, isOpening: false };
      this.#endpoints.set(key, endpoint);
      before.delete(key);
    }
    for (const { server } of before.values()) await server?.close();
    await this.#openAll(true);
    this.#timer ??= setInterval(
      () => void this.#openAll(false),
      this.#options.retryMs ?? RETRY_MS,
    ).unref();
  }

  /** May be called twice. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const endpoints = [...this.#endpoints.values()];
    this.#endpoints = new Map();
    for (const { server } of endpoints) await server?.close();
  }

  async #openAll(isFirst: boolean): Promise<void> {
    for (const [key, endpoint] of this.#endpoints) await this.#open(key, endpoint, isFirst);
  }

  async #open(key: string, endpoint: Endpoint, isFirst: boolean): Promise<void> {
    if (endpoint.server !== undefined || endpoint.isOpening) return;
    endpoint.isOpening = true;
    const { isReady, log } = this.#options;
    try {
      const server = await startHttpServer({
        ...endpoint.address,
        log,
        purpose: 'health',
        routes: (app) => {
          app.all('/health', (_request, response) => {
            response.type('text/plain').send('OK');
          });
          app.all('/ready', (_request, response) => {
            const ready = isReady();
            response
              .status(ready ? 200 : 503)
              .type('text/plain')
              .send(ready ? 'OK' : 'not ready');
          });
        },
      });
      if (this.#endpoints.get(key) === endpoint) endpoint.server = server;
      else await server.close();
    } catch (error) {
      if (isFirst) log.error(`${errorText(error)}; it is tried again`);
    } finally {
      endpoint.isOpening = false;
    }
  }
}

const METRICS_PATH = '/metrics';

/** What is served at each address, and the one that is served whatever the Corefile says: that of `-metrics-listen-address`. */
type MetricsEndpointsOptions = Pick<
  MetricsServerOptions,
  'families' | 'pages' | 'localPages' | 'openPaths' | 'log'
> & { readonly address: HttpAddress };

/** Serves the same metrics at each address of `prometheus` and at that of the set-up, as the original does. */
export class MetricsEndpoints {
  readonly #options: MetricsEndpointsOptions;
  #servers = new Map<string, MetricsServer>();

  constructor(options: MetricsEndpointsOptions) {
    this.#options = options;
  }

  /** Serves where these blocks say, from now on. */
  async serve(blocks: readonly ServerBlock[]): Promise<void> {
    const before = this.#servers;
    this.#servers = new Map();
    const wanted = [this.#options.address, ...blocks.map(({ metrics }) => metrics)];
    const created: MetricsServer[] = [];
    for (const address of wanted) {
      if (address === undefined) continue;
      const key = formatHostPort(address);
      if (this.#servers.has(key)) continue;
      const existing = before.get(key);
      before.delete(key);
      const server = existing ?? this.#create(address);
      this.#servers.set(key, server);
      if (existing === undefined) created.push(server);
    }
    await Promise.all([...before.values()].map((server) => server.close()));
    await Promise.all(created.map((server) => server.start()));
  }

  /** May be called twice. */
  async close(): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }

  #create(address: HttpAddress): MetricsServer {
    return new MetricsServer({
      ...this.#options,
      ...address,
      path: METRICS_PATH,
      retryMs: RETRY_MS,
    });
  }
}
