import { errorText } from '@kube-dns/base';
import { type Log, SnapshotError } from '@kube-dns/daemon';
import type { ApiReader } from './api-client.js';
import {
  type ClusterHeader,
  type ClusterSnapshot,
  snapshotLine,
  SnapshotLines,
  type SnapshotResource,
} from './cluster-snapshot.js';
import { ClusterVersion } from './cluster-version.js';
import { StreamError } from '../errors.js';
import { KUBE_SYSTEM, KUBERNETES } from './history.js';
import { ListWatch, type ResourceStatistics, type SnapshotState } from './list-watch.js';
import {
  type OptionalName,
  type OptionalResource,
  type OptionalState,
  OptionalWatch,
} from './optional-watch.js';
import { Task, type WatchPace } from './pace.js';
import {
  ClusterState,
  type EndpointNames,
  type KeptFields,
  type RecordStore,
  serviceKeyOf,
} from './projections.js';
import { type ApiObject, keyOf, type StoreLimits } from './store.js';

/**
 * The source of the endpoints of headless services. `auto` uses slices, and Endpoints while access to slices
 * is denied, as it is for the built-in ClusterRole `system:kube-dns`.
 */
export const ENDPOINTS_SOURCES = ['auto', 'slices', 'endpoints'] as const;
export type EndpointsSource = (typeof ENDPOINTS_SOURCES)[number];

export interface ClusterWatchOptions {
  readonly client: ApiReader;
  readonly records: RecordStore;
  /** The version that the records have. */
  readonly version?: ClusterVersion;
  readonly log: Log;
  /** Called when all namespaces are listed: possibly after the sync, and again after they were lost. */
  readonly onNamespacesListed: () => void;
  /** Called when access to listed namespaces is denied from now on; they are dropped. */
  readonly onNamespacesLost?: () => void;
  /** Called when the API server is reached after a snapshot was taken. */
  readonly onReached?: () => void;
  /** Called after a change of a watch was applied, with the ms since its bytes arrived. */
  readonly onEvent?: (latencyMs: number) => void;
  /**
   * Called after a change of a watch gave a service (`namespace/name`) other endpoints, with the time of what made them
   * change, as their controller has noted it: in ms since 1970 by the clock of its machine.
   */
  readonly onEndpoints?: (service: string, triggeredMs: number) => void;
  /** `auto` unless given. */
  readonly endpointsSource?: EndpointsSource;
  /** `hash` unless given. */
  readonly endpointNames?: EndpointNames;
  /** Their services are not answered. */
  readonly hiddenNamespaces?: ReadonlySet<string>;
  /** What is watched beside the cluster's zone; nothing unless given. */
  readonly optional?: readonly OptionalResource[];
  /** Whether slices of imported services are read as such; they are not unless given. */
  readonly readsImports?: boolean;
  /** Whether the zones of endpoints are stored; they are not unless given. */
  readonly readsZones?: boolean;
  /** Called when all objects of an optional resource are known, which none are where the API server does not have it. */
  readonly onOptionalKnown?: (name: OptionalName) => void;
  /** None unless given. */
  readonly keeps?: KeptFields | undefined;
  readonly random?: () => number;
  readonly pace?: Partial<WatchPace>;
  /** Of each resource. */
  readonly limits?: StoreLimits;
  /** How long readiness waits for namespaces, which are optional; 10 s unless given. */
  readonly namespacesLimitMs?: number;
}

/** What the watches of all resources have in common; objects of a snapshot are checked when they are put. */
type ResourceWatch = ResourceStatistics &
  Pick<
    ListWatch<ApiObject, never>,
    | 'start'
    | 'stop'
    | 'forget'
    | 'relist'
    | 'close'
    | 'changes'
    | 'isFromSnapshot'
    | 'isRefused'
    | 'snapshotState'
    | 'snapshotObjects'
    | 'beginSnapshot'
    | 'putOfSnapshot'
    | 'endSnapshot'
  >;

/** The snapshot that the records are of, while the API server is not reached. */
export interface ServedSnapshot {
  /** As the log names it. */
  readonly from: string;
  /** Until when all of it was known to be true, in ms since 1970. */
  readonly writtenMs: number;
}

const CONTACT_INTERVAL_MS = 5_000;
const NAMESPACES_LIMIT_MS = 10_000;
/** Some 1.5 s of tries. */
const NAMESPACES_FAILURES = 6;

/** Watches all resources that DNS needs, and reports when all of them were listed once. */
export class ClusterWatch {
  readonly #log: Log;
  readonly #all: readonly ResourceWatch[];
  /** The watches that run from the start, and that a sync waits for. */
  readonly #started: readonly ResourceWatch[];
  /** Those that nothing waits for. */
  readonly #optional: readonly OptionalWatch[];
  /** Resources without a first complete list; once empty, it stays empty. */
  readonly #pending = new Set<string>();
  /** The first sync, until it is complete or the watch is closed. */
  readonly #sync = new Task();
  readonly #life = new Task();
  readonly #namespacesLimitMs: number;
  readonly #endpointsSource: EndpointsSource;
  readonly #watches: ReadonlyMap<SnapshotResource, ResourceWatch>;
  #isSynced = false;
  #hasAllNamespaces = false;
  #snapshot: ServedSnapshot | undefined;

  constructor(options: ClusterWatchOptions) {
    const { client, log, random, pace, limits, onEvent, endpointsSource = 'auto' } = options;
    const { version = new ClusterVersion(), onEndpoints } = options;
    const noteEndpoints = (object: ApiObject | undefined, serviceKey: string | undefined) => {
      const triggeredMs = triggerTimeOf(object);
      if (serviceKey !== undefined && triggeredMs !== undefined)
        onEndpoints?.(serviceKey, triggeredMs);
    };
    this.#log = log;
    this.#endpointsSource = endpointsSource;
    this.#namespacesLimitMs = options.namespacesLimitMs ?? NAMESPACES_LIMIT_MS;
    const state = new ClusterState(options);
    const base = {
      client,
      log,
      random,
      pace,
      limits,
      onEvent,
      // The versions of one say nothing of how far another was: all are of the cluster that is gone.
      onRestored: (reason: string) => {
        // No cache has seen a cluster that only a snapshot is of.
        if (this.#snapshot === undefined) version.restore();
        else version.forget();
        for (const watch of this.#watches.values()) watch.relist(reason);
      },
      onReached: () => this.#noteReached(options.onReached),
    };
    const services = new ListWatch({
      ...base,
      path: '/api/v1/services',
      landmark: { ...KUBERNETES, isIdentity: true },
      sink: state.services,
      versions: version.listenerOf('services'),
      onSynced: () => this.#settle('services'),
    });
    const endpoints = new ListWatch({
      ...base,
      path: '/api/v1/endpoints',
      sink: state.endpoints,
      onEvent: (latencyMs, object) => {
        onEvent?.(latencyMs);
        noteEndpoints(object, object && keyOf(object));
      },
      versions: version.listenerOf('endpoints', 'endpoints'),
      onSynced: () => {
        version.useEndpoints('endpoints', endpoints.version);
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
      onEvent: (latencyMs, object) => {
        onEvent?.(latencyMs);
        noteEndpoints(object, object && serviceKeyOf(object));
      },
      versions: version.listenerOf('endpoints', 'endpointslices'),
      onSynced: () => {
        version.useEndpoints('endpointslices', slices.version);
        void endpoints.stop().then(() => endpoints.forget());
        this.#settle('endpoints');
        this.#settle('endpointslices');
      },
      ...(endpointsSource === 'auto' && {
        onDenied: () => {
          const without = options.readsZones === true ? ', no zones (--zonal)' : '';
          log.warn(
            `endpointslices are denied, so endpoints are used: one family, 1,000 per service${without}`,
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
      versions: version.listenerOf('namespaces'),
      onSynced: () => {
        this.#hasAllNamespaces = true;
        options.onNamespacesListed();
        this.#settle('namespaces');
      },
      // Without them a namespace exists when it has a service.
      onDenied: () => {
        if (this.#hasAllNamespaces) options.onNamespacesLost?.();
        this.#hasAllNamespaces = false;
        version.clear('namespaces');
        void namespaces.forget();
        this.#settle('namespaces');
      },
      onFailure: (inARow) => {
        if (inARow >= NAMESPACES_FAILURES) this.#doWithoutNamespaces();
      },
    });
    const usesEndpoints = endpointsSource === 'endpoints';
    if (usesEndpoints && options.readsZones === true)
      log.warn('--zonal: with --endpoints-source=endpoints no zone has endpoints: use slices');
    this.#started = [services, usesEndpoints ? endpoints : slices, namespaces];
    this.#all = [services, slices, endpoints, namespaces];
    const { optional = [], onOptionalKnown } = options;
    this.#optional = optional.map(
      (resource) =>
        new OptionalWatch({
          ...base,
          resource,
          onKnown: () => onOptionalKnown?.(resource.resource),
          // Its versions are in no version of the cluster, so what it has is a part of the identity.
          onContent: (digest) => version.depend(resource.resource, digest),
        }),
    );
    this.#watches = new Map<SnapshotResource, ResourceWatch>([
      ['services', services],
      ['endpointslices', slices],
      ['endpoints', endpoints],
      ['namespaces', namespaces],
      ...this.#optional.map(({ name, watch }) => [name, watch] as const),
    ]);
    for (const { resource } of this.#started) this.#pending.add(resource);
  }

  /** Whether everything was listed once, or a snapshot has it; stays true. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Undefined once the API server is reached: a watch of each resource goes on, or its list was complete. */
  get snapshot(): ServedSnapshot | undefined {
    return this.#snapshot;
  }

  /** Whether the records are of a snapshot. */
  get isFromSnapshot(): boolean {
    return this.#snapshot !== undefined;
  }

  /** Whether the objects of an optional resource are known: none where the API server does not have it. */
  isKnown(name: OptionalName): boolean {
    const watch = this.#watches.get(name);
    return watch !== undefined && (watch.isSynced || watch.isAbsent);
  }

  /** Whether access to an optional resource is denied. */
  isDenied(name: OptionalName): boolean {
    return this.#watches.get(name)?.isDenied === true;
  }

  /** Whether an optional resource is watched. Throws for one that is not among the options. */
  stateOf(name: OptionalName): OptionalState {
    return this.#optional.find((each) => each.name === name)!.state;
  }

  /** Changes of the stored objects so far. */
  get changes(): number {
    return [...this.#watches.values()].reduce((sum, { changes }) => sum + changes, 0);
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

  /** Whether nothing listens at the API server's address. */
  get isRefused(): boolean {
    return this.#started.every(({ isRefused }) => isRefused);
  }

  /** Live counts of each resource, also of those that are not watched. */
  get statistics(): Iterable<ResourceStatistics> {
    return this.#watches.values();
  }

  /** Called once. */
  start(): void {
    this.#startWatches();
    void this.#limitNamespaces();
    void this.#reportContact();
  }

  /**
   * What a snapshot of now says of its objects; undefined while the cluster is not known as a whole. It is taken before
   * `snapshotLines`: objects that change meanwhile are newer than it says.
   */
  get snapshotStates(): ClusterHeader['resources'] | undefined {
    const states = new Map<SnapshotResource, SnapshotState>();
    for (const resource of this.#listed) {
      const { snapshotState, isOverLimit } = this.#watchOf(resource);
      if (snapshotState === undefined || isOverLimit) return undefined;
      states.set(resource, snapshotState);
    }
    // What the API server does not have, or forbids, is in no snapshot.
    for (const { name, watch } of this.#optional) {
      const { snapshotState, isOverLimit } = watch;
      if (snapshotState !== undefined && !isOverLimit) states.set(name, snapshotState);
    }
    return this.#isSynced ? Object.fromEntries(states) : undefined;
  }

  /** The lines of a snapshot of these resources. Throws a SnapshotError where their objects were dropped meanwhile. */
  *snapshotLines(states: ClusterHeader['resources']): Generator<string> {
    for (const resource of Object.keys(states) as SnapshotResource[]) {
      const watch = this.#watchOf(resource);
      for (const object of watch.snapshotObjects()) yield snapshotLine(resource, object);
      if (watch.snapshotState === undefined) throw new SnapshotError(`${resource} were dropped`);
    }
  }

  /** The resources of which a snapshot has the objects: those of endpoints that are complete, namespaces where they are listed. */
  get #listed(): readonly SnapshotResource[] {
    const hasSlices = this.#watchOf('endpointslices').isSynced;
    const endpoints = hasSlices ? 'endpointslices' : 'endpoints';
    return this.#hasAllNamespaces ? ['services', endpoints, 'namespaces'] : ['services', endpoints];
  }

  /**
   * Takes the objects of a snapshot in place of lists that are not complete; what was listed meanwhile stays. Resolves to
   * false when everything was. Rejects with the reason for a snapshot that cannot be read, and is as before then.
   */
  async takeSnapshot({ header, lines, from }: ClusterSnapshot): Promise<boolean> {
    const { resources, writtenMs } = header;
    const running = [...this.#started, ...this.#optional.map(({ watch }) => watch)];
    await Promise.all(running.map((watch) => watch.stop()));
    const taken = Object.entries(resources).filter(
      ([resource]) => this.#watches.get(resource as SnapshotResource)?.isSynced === false,
    ) as [SnapshotResource, SnapshotState][];
    try {
      if (this.#isSynced || this.#life.isAborted) return false;
      this.#check(resources);
      const leftOut = await this.#put(new Set(taken.map(([resource]) => resource)), lines);
      if (leftOut.count > 0)
        this.#log.error(`${from}: ${leftOut.count} lines are left out; one: ${leftOut.reason}`);
      this.#snapshot = { from, writtenMs };
      const ageMs = Math.max(Date.now() - writtenMs, 0);
      for (const [resource, state] of taken) {
        if (await this.#watchOf(resource).endSnapshot(state, ageMs)) continue;
        throw new SnapshotError(`its ${resource} have no place beside those that are gone`);
      }
      for (const resource of this.#pending) this.#settle(resource);
      return true;
    } catch (error) {
      this.#snapshot = undefined;
      for (const [resource] of taken) {
        const watch = this.#watchOf(resource);
        await watch.forget();
        if (this.#started.includes(watch)) this.#pending.add(resource);
      }
      throw error;
    } finally {
      if (taken.some(([resource]) => resource === 'endpoints')) this.#watchOf('endpoints').start();
      this.#startWatches();
    }
  }

  /** Those that run already go on. */
  #startWatches(): void {
    for (const watch of this.#started) watch.start();
    for (const { watch } of this.#optional) watch.start();
  }

  #watchOf(resource: SnapshotResource): ResourceWatch {
    return this.#watches.get(resource)!;
  }

  /** Throws a SnapshotError for another source of endpoints, and for a cluster that is not the one that was listed in part. */
  #check(resources: ClusterHeader['resources']): void {
    const unused = { auto: undefined, slices: 'endpoints', endpoints: 'endpointslices' } as const;
    const other = unused[this.#endpointsSource];
    if (other !== undefined && resources[other] !== undefined) {
      throw new SnapshotError('it was written with another --endpoints-source');
    }
    for (const resource of ['services', 'namespaces'] as const) {
      const ours = this.#watchOf(resource).snapshotState?.uid ?? '';
      const theirs = resources[resource]?.uid ?? '';
      if (ours === '' || theirs === '' || ours === theirs) continue;
      throw new SnapshotError(`it is of another cluster: its ${resource} have another UID`);
    }
  }

  /** Resolves to how many lines are left out, and why one of them is. */
  async #put(resources: ReadonlySet<SnapshotResource>, lines: AsyncIterable<string>) {
    for (const resource of resources) this.#watchOf(resource).beginSnapshot();
    const reader = new SnapshotLines();
    const leftOut = { count: 0, reason: '' };
    for await (const line of lines) {
      if (this.#life.isAborted) throw new SnapshotError('the program ends');
      try {
        const { resource, object } = reader.read(line);
        if (resources.has(resource)) this.#watchOf(resource).putOfSnapshot(object);
      } catch (error) {
        if (error instanceof StreamError && error.reason === 'full') throw error;
        leftOut.count++;
        leftOut.reason = errorText(error);
      }
    }
    return leftOut;
  }

  /** Resolves when everything was listed once, after `timeoutMs`, or at `close`: to whether it was. */
  async waitForSync(timeoutMs: number): Promise<boolean> {
    await this.#sync.pause(timeoutMs);
    return this.isSynced;
  }

  async close(): Promise<void> {
    this.#sync.abort();
    this.#life.abort();
    await Promise.all(Array.from(this.#watches.values(), (watch) => watch.close()));
  }

  async #limitNamespaces(): Promise<void> {
    if (await this.#sync.pause(this.#namespacesLimitMs)) this.#doWithoutNamespaces();
  }

  async #reportContact(): Promise<void> {
    const contact = new ContactLog(this.#log);
    while (await this.#life.pause(CONTACT_INTERVAL_MS)) contact.report(this.#all, this.pending);
  }

  #noteReached(onReached: () => void = () => undefined): void {
    if (this.#snapshot === undefined || this.#all.some((watch) => watch.isFromSnapshot)) return;
    this.#snapshot = undefined;
    this.#log.info('the API server is reached: the answers are no longer from a snapshot');
    onReached();
  }

  #doWithoutNamespaces(): void {
    if (!this.#pending.has('namespaces') || this.#sync.isAborted) return;
    this.#log.warn('namespaces cannot be listed yet; a namespace with a service exists');
    this.#settle('namespaces');
  }

  #settle(name: string): void {
    this.#pending.delete(name);
    if (this.#isSynced || this.#pending.size > 0 || this.#sync.isAborted) return;
    this.#isSynced = true;
    this.#sync.abort();
    if (this.#snapshot === undefined) this.#log.info('ready: the whole cluster was seen');
    else this.#log.warn(snapshotText(this.#snapshot));
  }
}

/** As a log, a page and a probe say it. */
export function snapshotText(snapshot: ServedSnapshot): string {
  return `answers from a snapshot of ${snapshotSeconds(snapshot)} s ago (${snapshot.from}), the API server is not reached`;
}

/** How old a snapshot is, in whole seconds. */
export function snapshotSeconds({ writtenMs }: ServedSnapshot): number {
  return seconds(Math.max(Date.now() - writtenMs, 0));
}

/** Since when the endpoints were to change; its value is a time as in RFC 3339. */
const TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time';

/** In ms since 1970; undefined where there is none, or none that is a time. */
function triggerTimeOf(object: ApiObject | undefined): number | undefined {
  const text = object?.metadata?.annotations?.[TRIGGER_TIME];
  const ms = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/** Replacing a server takes some seconds, which is not worth a line. */
const FIRST_MS = 30_000;
const LONGEST_MS = 3_600_000;

/** One watched resource. */
interface WatchedResource {
  readonly resource: string;
  readonly objects: number;
  /** Milliseconds since the last contact with the server; 0 while a watch is open. */
  readonly noContactMs: number;
}

/**
 * Logs what a long start waits for, and how old the data is while the server is away: after 30 s, then at
 * doubled intervals up to an hour, and when it is back.
 */
export class ContactLog {
  readonly #log: Log;
  /** Of resources without contact, by their names: for how many ms, and when the next line is due. */
  readonly #away = new Map<string, { readonly ms: number; readonly nextMs: number }>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Logs what is due; `pending` are the resources whose first list is. */
  report(resources: readonly WatchedResource[], pending: readonly string[]): void {
    if (pending.length > 0) {
      const names = pending.map((name) => {
        const objects = resources.find(({ resource }) => resource === name)?.objects ?? 0;
        return objects > 0 ? `${name} (${objects} so far)` : name;
      });
      this.#log.info(`waiting for ${names.join(', ')}`);
    }
    for (const { resource, noContactMs } of resources) {
      if (noContactMs >= FIRST_MS) this.#noteAway(resource, noContactMs, pending);
      else this.#noteBack(resource);
    }
  }

  #noteAway(resource: string, ms: number, pending: readonly string[]): void {
    const { nextMs } = this.#away.get(resource) ?? { nextMs: FIRST_MS };
    const isDue = ms >= nextMs;
    this.#away.set(resource, { ms, nextMs: isDue ? ms + Math.min(ms, LONGEST_MS) : nextMs });
    if (!isDue) return;
    const since = `${resource}: no contact with the API server for ${seconds(ms)} s`;
    this.#log.warn(pending.includes(resource) ? since : `${since}; serving the last known records`);
  }

  #noteBack(resource: string): void {
    const away = this.#away.get(resource);
    if (away === undefined) return;
    this.#away.delete(resource);
    this.#log.info(`${resource}: the API server is back after ${seconds(away.ms)} s`);
  }
}

function seconds(ms: number): number {
  return Math.round(ms / 1_000);
}
