import { errorText, formatHostPort } from '@kube-dns/base';
import { type HttpServer, type Log, startHttpServer } from '@kube-dns/daemon';
import type { HttpAddress, ServerBlock } from '../corefile/server-block.js';

export interface HealthEndpointsOptions {
  readonly isReady: () => boolean;
  readonly log: Log;
  readonly retryMs?: number;
}

/** Another process of this node may have the port until it has ended. */
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
