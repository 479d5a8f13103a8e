import {
  type ApiServer,
  type Bookmarks,
  createApiServer,
  type RestartOptions,
} from '@kube-dns/apiserver';
import { freePort } from '@kube-dns/testkit';
import { ApiClient, loadKubeConfig } from '../../src/watch/api-client.js';
import {
  ClusterWatch,
  type ClusterWatchOptions,
  type EndpointsSource,
} from '../../src/watch/cluster-watch.js';
import { ClusterZone } from '../../src/zone/cluster-zone.js';
import { recordedLog } from './recorded-log.js';
import { textsAt } from './record-text.js';

/** Bookmarks are as frequent as events. */
const BOOKMARK_INTERVAL_MS = 50;

/** Only a hang reaches it. */
export const SYNC_LIMIT_MS = 60_000;

/** An API server, and a watch of its cluster that was not started. */
export class WatchTestbed {
  readonly api: ApiServer;
  readonly log = recordedLog();
  readonly #zone = new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 });
  readonly #client: ApiClient;
  watch: ClusterWatch;
  /** How often namespaces were listed, less how often they were lost. */
  namespacesListed = 0;

  private constructor(api: ApiServer) {
    this.api = api;
    this.#client = new ApiClient(loadKubeConfig({ kubecfgFile: '', masterUrl: api.url }), 'test');
    this.watch = this.#newWatch();
  }

  /** The server sends bookmarks all the time, or as rarely as a real one. */
  static async create(bookmarks: Bookmarks = 'usual'): Promise<WatchTestbed> {
    // After a restart it has the same port: one of the system's choice could be another program's meanwhile.
    const port = await freePort();
    const api = await createApiServer({ port, bookmarkIntervalMs: BOOKMARK_INTERVAL_MS });
    api.setBookmarks(bookmarks);
    return new WatchTestbed(api);
  }

  /** Replaces the watch by another one, also not started. */
  renew(endpointsSource?: EndpointsSource, options?: Partial<ClusterWatchOptions>): void {
    this.watch = this.#newWatch(endpointsSource, options);
  }

  /** Restarts the server with these data, and makes a change before it answers any request. */
  async restartWhile(
    data: RestartOptions['data'] & string,
    change: () => Promise<unknown>,
  ): Promise<void> {
    this.api.hang();
    await this.api.restart({ data });
    await change();
    this.api.unhang();
  }

  /** The number of lists and watches of a resource. */
  tries(resource: string): number {
    const { requests } = this.api;
    return requests.count('list', resource) + requests.count('watch', resource);
  }

  /** The counts of a resource. */
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

  /** Retries soon. */
  #newWatch(
    endpointsSource: EndpointsSource = 'auto',
    options: Partial<ClusterWatchOptions> = {},
  ): ClusterWatch {
    return new ClusterWatch({
      client: this.#client,
      records: this.#zone,
      log: this.log,
      endpointsSource,
      onNamespacesListed: () => this.namespacesListed++,
      onNamespacesLost: () => this.namespacesListed--,
      random: () => 0,
      pace: { deniedPauseMs: 10, firstPauseMs: 10 },
      ...options,
    });
  }
}
