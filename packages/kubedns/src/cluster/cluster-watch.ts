import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '@kube-dns/daemon';
import type { EndpointNames } from '../config/naming.js';
import type { ApiClient } from './api-client.js';
import { ClusterState, type RecordStore } from './cluster-state.js';
import { ContactLog } from './contact-log.js';
import { KUBE_SYSTEM, KUBERNETES } from './landmark.js';
import { ListWatch } from './list-watch.js';
import type { StoreLimits } from './store-limits.js';
import type { WatchPace } from './watch-pace.js';
import type { ResourceStatistics } from './watch-statistics.js';

/**
 * The source of the endpoints of headless services. `auto` uses slices, and Endpoints while access to slices
 * is denied, as it is for the built-in ClusterRole `system:kube-dns`.
 */
export const ENDPOINTS_SOURCES = ['auto', 'slices', 'endpoints'] as const;
export type EndpointsSource = (typeof ENDPOINTS_SOURCES)[number];

export interface ClusterWatchOptions {
  readonly client: ApiClient;
  readonly records: RecordStore;
  readonly log: Log;
  /** Called when all namespaces are listed: possibly after the sync, and again after they were lost. */
  readonly onNamespacesListed: () => void;
  /** Called when access to listed namespaces is denied from now on; they are dropped. */
  readonly onNamespacesLost?: () => void;
  /** Called after a change of a watch was applied, with the ms since its bytes arrived. */
  readonly onEvent?: (latencyMs: number) => void;
  /** `auto` unless given. */
  readonly endpointsSource?: EndpointsSource;
  /** `hash` unless given. */
  readonly endpointNames?: EndpointNames;
  readonly random?: () => number;
  readonly pace?: Partial<WatchPace>;
  /** Of each resource. */
  readonly limits?: StoreLimits;
  /** How long readiness waits for namespaces, which are optional; 10 s unless given. */
  readonly namespacesLimitMs?: number;
}

/** The common interface of the watches of all resources. */
type AnyWatch = Pick<ListWatch<never, never>, 'start' | 'relist' | 'close'> & ResourceStatistics;

const NAMESPACES_LIMIT_MS = 10_000;
/** Some 1.5 s of tries. */
const NAMESPACES_FAILURES = 6;

/** Watches all resources that DNS needs, and reports when all of them were listed once. */
export class ClusterWatch {
  readonly #log: Log;
  readonly #all: readonly AnyWatch[];
  /** The watches that run from the start. */
  readonly #started: readonly AnyWatch[];
  /** Resources without a first complete list; once empty, it stays empty. */
  readonly #pending = new Set<string>();
  /** Ends the wait for the first sync: it is complete, or the watch is closed. */
  readonly #waitEnd = new AbortController();
  readonly #namespacesLimitMs: number;
  #isSynced = false;
  #hasAllNamespaces = false;
  #namespacesTimer: NodeJS.Timeout | undefined;
  #contactLog: ContactLog | undefined;

  constructor(options: ClusterWatchOptions) {
    const { client, log, records, random, pace, onEvent, endpointsSource = 'auto' } = options;
    this.#log = log;
    this.#namespacesLimitMs = options.namespacesLimitMs ?? NAMESPACES_LIMIT_MS;
    const state = new ClusterState({
      records,
      endpointNames: options.endpointNames ?? 'hash',
      onRejected: (resource, key, reason) => {
        ({ services, endpointSlices: slices, endpoints })[resource].reject(key, reason);
      },
    });
    const base = {
      client,
      log,
      ...(random && { random }),
      ...(pace && { pace }),
      ...(options.limits && { limits: options.limits }),
      ...(onEvent && { onEvent }),
      // The versions of one say nothing of how far another was: all are of the cluster that is gone.
      onRestored: (reason: string) => {
        for (const watch of this.#all) watch.relist(reason);
      },
    };
    const services = new ListWatch({
      ...base,
      path: '/api/v1/services',
      landmark: { ...KUBERNETES, isIdentity: true },
      sink: state.services,
      onSynced: () => this.#settle('services'),
    });
    const endpoints = new ListWatch({
      ...base,
      path: '/api/v1/endpoints',
      sink: state.endpoints,
      onSynced: () => {
        // Not before: the old slices were the only data. Their watch may be back, or be connecting.
        const dropSlices = () => slices.stop().then(() => slices.forget());
        if (slices.isDenied) void dropSlices().then(() => slices.start());
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
      landmark: KUBE_SYSTEM,
      sink: state.namespaces,
      onSynced: () => {
        this.#hasAllNamespaces = true;
        options.onNamespacesListed();
        this.#settle('namespaces');
      },
      // Without them a namespace exists when it has a service.
      onDenied: () => {
        if (this.#hasAllNamespaces) options.onNamespacesLost?.();
        this.#hasAllNamespaces = false;
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

  /** Whether everything was listed once; stays true. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Whether objects are missing because a resource exceeds its limits. */
  get isOverLimit(): boolean {
    return this.#all.some(({ isOverLimit }) => isOverLimit);
  }

  /** The resources whose first list is pending. */
  get pending(): readonly string[] {
    return [...this.#pending];
  }

  /** Milliseconds since the last contact with the API server, of the resource with the oldest one; 0 while all are watched. */
  get noContactMs(): number {
    return Math.max(...this.#all.map(({ noContactMs }) => noContactMs));
  }

  /** Live counts of each resource, also of those that are not watched. */
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

  /** Resolves when everything was listed once, after `timeoutMs`, or at `close`: to whether it was. */
  async waitForSync(timeoutMs: number): Promise<boolean> {
    await delay(timeoutMs, undefined, { signal: this.#waitEnd.signal }).catch(() => {
      /* synced or closed */
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
    this.#log.warn('namespaces cannot be listed yet; a namespace with a service exists');
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
