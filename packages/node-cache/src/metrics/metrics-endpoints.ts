import { formatHostPort } from '@kube-dns/base';
import { MetricsServer, type MetricsServerOptions } from '@kube-dns/daemon';
import type { HttpAddress, ServerBlock } from '../corefile/server-block.js';

const METRICS_PATH = '/metrics';
/** The process that this one replaces has the ports until it has ended. */
const RETRY_MS = 1_000;

/** What is served at each address, and the one that is served whatever the Corefile says: that of `-metrics-listen-address`. */
export type MetricsEndpointsOptions = Pick<
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
      const known = before.get(key);
      before.delete(key);
      const server = known ?? this.#create(address);
      this.#servers.set(key, server);
      if (known === undefined) created.push(server);
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
