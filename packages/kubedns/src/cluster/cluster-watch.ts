import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '@kube-dns/daemon';
import type { EndpointNames } from '../config/naming.js';
import type { ApiClient } from './api-client.js';
import { ClusterState, type RecordKeeper } from './cluster-state.js';
import { ContactLog } from './contact-log.js';
import { ListWatch } from './list-watch.js';
import type { WatchPace } from './watch-pace.js';
import type { ResourceStatistics } from './watch-statistics.js';

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
  /** Called when all namespaces are known; they may come late, and again after they were lost. */
  readonly onNamespacesKnown: () => void;
  /** Called when namespaces that were known are denied from now on; they are forgotten. */
  readonly onNamespacesLost?: () => void;
  /** Called after a change of a watch was applied, with the ms since its bytes arrived. */
  readonly onEvent?: (latencyMs: number) => void;
  /** `auto` unless said otherwise. */
  readonly endpointsSource?: EndpointsSource;
  /** `hash` unless said otherwise. */
  readonly endpointNames?: EndpointNames;
  readonly random?: () => number;
  readonly pace?: Partial<WatchPace>;
  /** How long readiness waits for namespaces, which are not needed; 10 s unless said otherwise. */
  readonly namespacesLimitMs?: number;
}

/** What is common to the watches of all resources. */
type AnyWatch = Pick<ListWatch<never, never>, 'start' | 'close' | 'noContactMs'> &
  ResourceStatistics;

const NAMESPACES_LIMIT_MS = 10_000;
const NAMESPACES_FAILURES = 3;

/** Follows everything of the cluster that DNS is made of, and knows when it has seen all of it once. */
export class ClusterWatch {
  readonly #log: Log;
  readonly #all: readonly AnyWatch[];
  /** Those that run from the start. */
  readonly #started: readonly AnyWatch[];
  /** Resources whose first list has not come yet; empty for ever once it was. */
  readonly #pending = new Set<string>();
  /** Ends waiting for the first sync: it is there, or nobody waits any more. */
  readonly #waitEnd = new AbortController();
  readonly #namespacesLimitMs: number;
  #isSynced = false;
  #knowsNamespaces = false;
  #namespacesTimer: NodeJS.Timeout | undefined;
  #contactLog: ContactLog | undefined;

  constructor(options: ClusterWatchOptions) {
    const { client, log, keeper, random, pace, onEvent, endpointsSource = 'auto' } = options;
    this.#log = log;
    this.#namespacesLimitMs = options.namespacesLimitMs ?? NAMESPACES_LIMIT_MS;
    const state = new ClusterState({
      keeper,
      endpointNames: options.endpointNames ?? 'hash',
      onRejected: (resource, key, reason) => {
        (resource === 'endpoints' ? endpoints : slices).reject(key, reason);
      },
    });
    const base = {
      client,
      log,
      ...(random && { random }),
      ...(pace && { pace }),
      ...(onEvent && { onEvent }),
    };
    const services = new ListWatch({
      ...base,
      path: '/api/v1/services',
      sink: state.services,
      onSynced: () => this.#settle('services'),
    });
    const endpoints = new ListWatch({
      ...base,
      path: '/api/v1/endpoints',
      sink: state.endpoints,
      onSynced: () => {
        // Not before: until now they were all that is known. A watch of them may be back, or on its way.
        if (slices.isDenied) void slices.startAnew();
        this.#settle('endpoints');
      },
    });
    const slices = new ListWatch({
      ...base,
      path: '/apis/discovery.k8s.io/v1/endpointslices',
      sink: state.endpointSlices,
      onSynced: () => {
        void endpoints.stop().then(() => endpoints.forget());
        this.#settle('endpoints');
        this.#settle('endpointslices');
      },
      ...(endpointsSource === 'auto' && {
        onDenied: () => {
          log.warn(
            'endpointslices are denied, so endpoints are used: one family, 1,000 per service',
          );
          if (!this.#isSynced) this.#pending.add('endpoints');
          endpoints.start();
          this.#settle('endpointslices');
        },
      }),
    });
    const namespaces = new ListWatch({
      ...base,
      path: '/api/v1/namespaces',
      sink: state.namespaces,
      onSynced: () => {
        this.#knowsNamespaces = true;
        options.onNamespacesKnown();
        this.#settle('namespaces');
      },
      // Without them the namespaces are those that have a service.
      onDenied: () => {
        if (this.#knowsNamespaces) options.onNamespacesLost?.();
        this.#knowsNamespaces = false;
        void namespaces.forget();
        this.#settle('namespaces');
      },
      onFailure: (inARow) => {
        if (inARow >= NAMESPACES_FAILURES) this.#doWithoutNamespaces();
      },
    });
    const usesEndpoints = endpointsSource === 'endpoints';
    this.#started = [services, usesEndpoints ? endpoints : slices, namespaces];
    this.#all = [services, slices, endpoints, namespaces];
    for (const { resource } of this.#started) this.#pending.add(resource);
  }

  /** Whether everything was seen once; it stays so. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** The resources that are still waited for. */
  get pending(): readonly string[] {
    return [...this.#pending];
  }

  /** Numbers of each resource, also of those that are not asked for; as they are when they are read. */
  get statistics(): Iterable<ResourceStatistics> {
    return this.#all;
  }

  start(): void {
    for (const watch of this.#started) watch.start();
    this.#namespacesTimer ??= setTimeout(
      () => this.#doWithoutNamespaces(),
      this.#namespacesLimitMs,
    ).unref();
    const pending = () => this.pending;
    this.#contactLog ??= new ContactLog({ log: this.#log, followed: this.#all, pending });
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
    this.#contactLog?.close();
    clearTimeout(this.#namespacesTimer);
    await Promise.all(this.#all.map((watch) => watch.close()));
  }

  #doWithoutNamespaces(): void {
    if (!this.#pending.has('namespaces') || this.#waitEnd.signal.aborted) return;
    this.#log.warn('namespaces are not to be had so far; those with a service exist');
    this.#settle('namespaces');
  }

  #settle(name: string): void {
    this.#pending.delete(name);
    if (this.#isSynced || this.#pending.size > 0 || this.#waitEnd.signal.aborted) return;
    this.#isSynced = true;
    this.#waitEnd.abort();
    this.#log.info('ready: the whole cluster was seen');
  }
}
