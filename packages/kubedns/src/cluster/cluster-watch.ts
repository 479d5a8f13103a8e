import { setTimeout as delay } from 'node:timers/promises';
import type { V1EndpointSlice, V1Namespace, V1Service } from '@kubernetes/client-node';
import type { Log } from '@kube-dns/daemon';
import type { ApiClient } from './api-client.js';
import { ClusterState, type RecordKeeper } from './cluster-state.js';
import { ListWatch } from './list-watch.js';
import type { WatchPace } from './watch-pace.js';

export interface ClusterWatchOptions {
  readonly client: ApiClient;
  readonly keeper: RecordKeeper;
  readonly log: Log;
  /** Called once, when namespaces turn out to be readable, after all of them are known. */
  readonly onNamespacesKnown: () => void;
  readonly random?: () => number;
  readonly pace?: Partial<WatchPace>;
}

/** Follows everything of the cluster that DNS is made of, and knows when it has seen all of it once. */
export class ClusterWatch {
  readonly #watches: readonly Pick<ListWatch<never>, 'start' | 'close'>[];
  /** Resources whose first list has not come yet. */
  readonly #pending = new Set<string>();
  readonly #log: Log;
  /** Ends waiting for the first sync: it is there, or nobody waits any more. */
  readonly #waitEnd = new AbortController();

  constructor(options: ClusterWatchOptions) {
    const { client, log, random, keeper, pace } = options;
    this.#log = log;
    const state = new ClusterState(keeper);
    const base = { client, log, ...(random && { random }), ...(pace && { pace }) };
    const services = new ListWatch<V1Service>({
      ...base,
      path: '/api/v1/services',
      sink: state.services,
      onSynced: () => this.#settle('services'),
    });
    const slices = new ListWatch<V1EndpointSlice>({
      ...base,
      path: '/apis/discovery.k8s.io/v1/endpointslices',
      sink: state.endpointSlices,
      onSynced: () => this.#settle('endpointslices'),
    });
    const namespaces = new ListWatch<V1Namespace>({
      ...base,
      path: '/api/v1/namespaces',
      sink: state.namespaces,
      onSynced: () => {
        options.onNamespacesKnown();
        this.#settle('namespaces');
      },
      // Without them the namespaces are those that have a service.
      onDenied: () => this.#settle('namespaces'),
    });
    for (const name of ['services', 'endpointslices', 'namespaces']) this.#pending.add(name);
    this.#watches = [services, slices, namespaces];
  }

  get isSynced(): boolean {
    return this.#pending.size === 0;
  }

  /** The resources that are still waited for. */
  get pending(): readonly string[] {
    return [...this.#pending];
  }

  start(): void {
    for (const watch of this.#watches) watch.start();
  }

  /** Resolves when everything was seen once, after `timeoutMs`, or at `close`; tells whether it was. */
  async waitForSync(timeoutMs: number): Promise<boolean> {
    await delay(timeoutMs, undefined, { signal: this.#waitEnd.signal }).catch(() => {
      /* no more to wait for */
    });
    return this.isSynced;
  }

  async close(): Promise<void> {
    this.#waitEnd.abort();
    await Promise.all(this.#watches.map((watch) => watch.close()));
  }

  #settle(name: string): void {
    this.#pending.delete(name);
    if (!this.isSynced || this.#waitEnd.signal.aborted) return;
    this.#waitEnd.abort();
    this.#log.info('ready: the whole cluster was seen');
  }
}
