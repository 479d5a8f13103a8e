import { setTimeout as delay } from 'node:timers/promises';
import type { V1Endpoints, V1EndpointSlice, V1Namespace, V1Service } from '@kubernetes/client-node';
import type { Log } from '@kube-dns/daemon';
import type { ApiClient } from './api-client.js';
import { ClusterState, type RecordKeeper } from './cluster-state.js';
import { ListWatch } from './list-watch.js';
import type { WatchPace } from './watch-pace.js';

/**
 * Where the addresses of headless services come from. `auto` prefers slices and takes Endpoints while
 * slices are denied, as they are to the built-in ClusterRole `system:kube-dns`.
 */
export const ENDPOINTS_SOURCES = ['auto', 'slices', 'endpoints'] as const;
export type EndpointsSource = (typeof ENDPOINTS_SOURCES)[number];

export interface ClusterWatchOptions {
  readonly client: ApiClient;
  readonly keeper: RecordKeeper;
  readonly log: Log;
  /** Called once, when namespaces turn out to be readable, after all of them are known. */
  readonly onNamespacesKnown: () => void;
  /** `auto` unless said otherwise. */
  readonly endpointsSource?: EndpointsSource;
  readonly random?: () => number;
  readonly pace?: Partial<WatchPace>;
}

/** Follows everything of the cluster that DNS is made of, and knows when it has seen all of it once. */
export class ClusterWatch {
  readonly #watches: readonly Pick<ListWatch<never>, 'start' | 'close'>[];
  /** Those that run from the start. */
  readonly #started: readonly Pick<ListWatch<never>, 'start' | 'close'>[];
  /** Resources whose first list has not come yet. */
  readonly #pending = new Set<string>();
  readonly #log: Log;
  /** Ends waiting for the first sync: it is there, or nobody waits any more. */
  readonly #waitEnd = new AbortController();

  constructor(options: ClusterWatchOptions) {
    const { client, log, random, keeper, pace, endpointsSource = 'auto' } = options;
    this.#log = log;
    const state = new ClusterState(keeper);
    const base = { client, log, ...(random && { random }), ...(pace && { pace }) };
    const services = new ListWatch<V1Service>({
      ...base,
      path: '/api/v1/services',
      sink: state.services,
      onSynced: () => this.#settle('services'),
    });
    const endpoints = new ListWatch<V1Endpoints>({
      ...base,
      path: '/api/v1/endpoints',
      sink: state.endpoints,
      onSynced: () => this.#settle('endpoints'),
    });
    const fallBack = () => {
      log.warn('endpointslices are denied, so endpoints are used: one family, 1,000 per service');
      state.useEndpoints();
      this.#pending.add('endpoints');
      endpoints.start();
      this.#settle('endpointslices');
    };
    const slices = new ListWatch<V1EndpointSlice>({
      ...base,
      path: '/apis/discovery.k8s.io/v1/endpointslices',
      sink: state.endpointSlices,
      onSynced: () => {
        void endpoints.close();
        state.useSlices();
        this.#settle('endpoints');
        this.#settle('endpointslices');
      },
      ...(endpointsSource === 'auto' && { onDenied: fallBack }),
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
    const usesEndpoints = endpointsSource === 'endpoints';
    if (usesEndpoints) state.useEndpoints();
    this.#started = [services, usesEndpoints ? endpoints : slices, namespaces];
    this.#watches = [services, endpoints, slices, namespaces];
    this.#pending
      .add('services')
      .add(usesEndpoints ? 'endpoints' : 'endpointslices')
      .add('namespaces');
  }

  get isSynced(): boolean {
    return this.#pending.size === 0;
  }

  /** The resources that are still waited for. */
  get pending(): readonly string[] {
    return [...this.#pending];
  }

  start(): void {
    for (const watch of this.#started) watch.start();
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
