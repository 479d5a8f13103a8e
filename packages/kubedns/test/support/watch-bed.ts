import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { ApiClient } from '../../src/cluster/api-client.js';
import {
  ClusterWatch,
  type ClusterWatchOptions,
  type EndpointsSource,
} from '../../src/cluster/cluster-watch.js';
import { loadKubeConfig } from '../../src/cluster/kube-config.js';
import { ClusterZone } from '../../src/zone/cluster-zone.js';
import { keptLog } from './kept-log.js';
import { textsAt } from './record-text.js';

/** An API server, and a watch of its cluster that has not begun. */
export class WatchBed {
  readonly api: ApiServer;
  readonly log = keptLog();
  readonly #zone = new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 });
  readonly #client: ApiClient;
  watch: ClusterWatch;
  /** How often namespaces became known, less how often they were lost. */
  namespacesKnown = 0;

  private constructor(api: ApiServer) {
    this.api = api;
    this.#client = new ApiClient(loadKubeConfig({ kubecfgFile: '', masterUrl: api.url }), 'test');
    this.watch = this.#newWatch();
  }

  static async create(): Promise<WatchBed> {
    return new WatchBed(await createApiServer());
  }

  /** Takes another watch, which has not begun either. */
  renew(endpointsSource?: EndpointsSource, options?: Partial<ClusterWatchOptions>): void {
    this.watch = this.#newWatch(endpointsSource, options);
  }

  /** How often a resource was asked for, in whatever way. */
  tries(resource: string): number {
    const { requests } = this.api;
    return requests.count('list', resource) + requests.count('watch', resource);
  }

  /** The numbers of a resource. */
  of(name: string) {
    return [...this.watch.statistics].find(({ resource }) => resource === name)!;
  }

  /** The records of a name as texts. */
  at(name: string) {
    return textsAt(this.#zone, name);
  }

  async close(): Promise<void> {
    await this.watch.close();
    this.#client.close();
    await this.api.close();
  }

  /** Patient for a tenth of a second where it is denied. */
  #newWatch(
    endpointsSource: EndpointsSource = 'auto',
    options: Partial<ClusterWatchOptions> = {},
  ): ClusterWatch {
    return new ClusterWatch({
      client: this.#client,
      keeper: this.#zone,
      log: this.log,
      endpointsSource,
      onNamespacesKnown: () => this.namespacesKnown++,
      onNamespacesLost: () => this.namespacesKnown--,
      random: () => 0,
      pace: { deniedPauseMs: 100, firstPauseMs: 100 },
      ...options,
    });
  }
}
