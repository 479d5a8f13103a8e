import { setImmediate, setTimeout } from 'node:timers/promises';
import { Cluster } from './cluster/cluster.js';
import type { Clock } from './cluster/registry.js';
import { ApiError, ApiserverError } from './errors.js';
import { createApp, Listener, type TestControls } from './http/app.js';
import { WatchHub, type Bookmarks } from './http/watch.js';
import type { KubeObject, Manifest } from './object.js';
import { ObjectAccess } from './object-access.js';
import {
  RequestLog,
  Switches,
  unreadyCache,
  type Failure,
  type RestartOptions,
} from './switches.js';
import { parseCidr, type IpFamily, type IpRange } from './resources/ip.js';
import type { KindName, ObjectTypes } from './resources/resource-table.js';
import type { StoreContents } from './store.js';

/** How an API server is set up; every option has a default. */
export interface ApiServerOptions {
  /** Default 0: any free port. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Range of IPv4 cluster addresses, default 10.96.0.0/16. */
  readonly serviceRange?: string;
  /** Range of IPv6 cluster addresses, default fd00:10:96::/112. */
  readonly serviceRangeV6?: string;
  /** Time in ms since the epoch, for timestamps and ages. */
  readonly clock?: Clock;
  /** Events retained per resource for watches from an earlier version, default 1000. */
  readonly historyLimit?: number;
  /** Events that may wait for one slow watch, default 10000. */
  readonly watchQueueLimit?: number;
  /** Default one minute. */
  readonly bookmarkIntervalMs?: number;
  /** How long a list or get waits for a version that is yet to come, default 3 s. */
  readonly freshnessWaitMs?: number;
  /** Fills the server before it answers its first request; an error that it throws ends the start. */
  readonly seed?: (objects: ObjectAccess) => void;
}

/** Objects that `apply` writes before it yields to the event loop. */
const APPLY_BATCH = 200;
/** What may wait for one slow watch: with few large objects the number of events is no bound. */
const WATCH_QUEUE_BYTES = 16 * 1024 * 1024;
const MAX_DELAY_MS = 3_600_000;

function readRange(text: string, family: IpFamily): IpRange {
  const range = parseCidr(text);
  if (range?.family === family && range.size >= 4n) return range;
  throw new ApiserverError('usage', `"${text}" is not a range of ${family} service addresses`);
}

/** A running API server. Object methods and switches take effect before they return. */
export class ApiServer implements TestControls {
  readonly url: string;
  readonly port: number;
  readonly requests: RequestLog;
  readonly #listener: Listener;
  readonly #cluster: Cluster;
  readonly #objects: ObjectAccess;
  readonly #hub: WatchHub;
  readonly #switches = new Switches();
  readonly #ending = new AbortController();
  #backup: StoreContents | undefined;
  #closed: Promise<void> | undefined;

  private constructor(listener: Listener, cluster: Cluster, options: ApiServerOptions) {
    this.#listener = listener;
    this.port = listener.port;
    this.url = listener.url;
    this.requests = new RequestLog();
    this.#cluster = cluster;
    this.#objects = new ObjectAccess(cluster);
    this.#hub = new WatchHub({
      queueLimit: options.watchQueueLimit ?? 10_000,
      queueBytes: WATCH_QUEUE_BYTES,
      bookmarkIntervalMs: options.bookmarkIntervalMs ?? 60_000,
    });
    cluster.start(listener.address, listener.port);
    this.#fill(options.seed);
    const context = {
      cluster,
      hub: this.#hub,
      switches: this.#switches,
      requests: this.requests,
      clock: options.clock ?? Date.now,
      // Source: storage/cacher blockTimeout.
      freshnessWaitMs: options.freshnessWaitMs ?? 3000,
    };
    listener.serve(createApp(context, this, listener.host));
  }

  /**
   * Starts a server. Rejects with a {@link ListenError} when it cannot listen, and with any error
   * that `seed` throws; nothing is left running then.
   */
  static async start(options: ApiServerOptions = {}): Promise<ApiServer> {
    const ranges = {
      IPv4: readRange(options.serviceRange ?? '10.96.0.0/16', 'IPv4'),
      IPv6: readRange(options.serviceRangeV6 ?? 'fd00:10:96::/112', 'IPv6'),
    };
    const clock = options.clock ?? Date.now;
    const cluster = new Cluster({ ranges, clock, historyLimit: options.historyLimit ?? 1000 });
    const listener = await Listener.open(options.host ?? '127.0.0.1', options.port ?? 0);
    try {
      // Synchronous, so no connection is handled before it is complete.
      return new ApiServer(listener, cluster, options);
    } catch (error) {
      await listener.close();
      throw error;
    }
  }

  /** Ends every connection immediately; may be called twice. */
  close(): Promise<void> {
    this.#ending.abort();
    this.#closed ??= this.#listener.close();
    return this.#closed;
  }

  // Objects

  /** Creates or replaces objects in the order given. Stops at the first that is refused. */
  async apply(manifests: Manifest | readonly Manifest[]): Promise<void> {
    const all = 'kind' in manifests ? [manifests] : manifests;
    for (const [i, manifest] of all.entries()) {
      this.#objects.put(manifest);
      // Watches write in between, so that no watch fills its whole queue.
      if ((i + 1) % APPLY_BATCH === 0) await setImmediate();
    }
  }

  create(manifest: Manifest): KubeObject {
    return this.#objects.create(manifest);
  }

  update(manifest: Manifest): KubeObject {
    return this.#objects.update(manifest);
  }

  /** Deletes an object and returns its last state. Throws a 404 when it does not exist. */
  delete(kind: KindName, namespace: string | undefined, name: string): KubeObject {
    return this.#objects.delete(kind, namespace, name);
  }

  get<K extends KindName>(
    kind: K,
    namespace: string | undefined,
    name: string,
  ): ObjectTypes[K] | undefined {
    return this.#objects.get(kind, namespace, name);
  }

  /** All objects of a kind, of one namespace when it is given. */
  list<K extends KindName>(kind: K, namespace?: string): ObjectTypes[K][] {
    return this.#objects.list(kind, namespace);
  }

  /** The access that `seed` receives. */
  get objects(): ObjectAccess {
    return this.#objects;
  }

  /** Version of the last write. */
  get resourceVersion(): string {
    return String(this.#cluster.store.revision);
  }

  /** Number of open watches, of one resource such as `services` or of all. */
  watchCount(resource?: string): number {
    return this.#hub.count(resource);
  }

  // Switches

  /** Breaks the connection of every watch. */
  dropWatches(): void {
    this.#hub.dropAll();
  }

  /** Requests get no answer and watches get no events until `unhang`; none of them is lost. */
  hang(): void {
    this.#switches.setHung(true);
    this.#hub.setSilent(true);
  }

  unhang(): void {
    this.#switches.setHung(false);
    this.#hub.setSilent(false);
  }

  /** Refuses the requests that match, until `clearFailures` or `failure.times` times. */
  failRequests(failure: Failure): void {
    this.#switches.fail(failure);
  }

  clearFailures(): void {
    this.#switches.clearFailures();
  }

  /**
   * Discards what etcd has beyond the watch cache: pages and exact versions from before that get 410. With
   * `cache` the watch cache begins anew, too, so that watches and pages from before this get 410.
   */
  compact({ cache = false }: { readonly cache?: boolean } = {}): void {
    if (cache) this.#cluster.store.forgetWatches();
    this.#cluster.store.compact();
  }

  /** Delays every request by this time; 0 ends that. */
  delayRequests(ms: number): void {
    this.#switches.delayMs = Math.min(ms, MAX_DELAY_MS);
  }

  /** Off: watches with `sendInitialEvents` are refused with 422. On at the start. */
  supportInitialEvents(isSupported: boolean): void {
    this.#switches.supportsInitialEvents = isSupported;
  }

  /** Off: lists are complete whatever the `limit`. On at the start. */
  supportLimit(isSupported: boolean): void {
    this.#switches.supportsLimit = isSupported;
  }

  /**
   * Serves these versions of a group alone, as of a CRD; none: the CRD is removed, its objects are deleted and its watches end.
   * All are served at the start.
   */
  serveVersions(group: string, versions: readonly string[]): void {
    this.#switches.servedVersions.set(group, versions);
    if (versions.length === 0) this.#objects.deleteGroup(group);
    this.#hub.dropAll();
  }

  /** How often the watches that are opened from now on get bookmarks. */
  setBookmarks(bookmarks: Bookmarks): void {
    this.#hub.bookmarks = bookmarks;
  }

  /** Notes all objects and their version for `restart({ data: 'backup' })`. */
  backup(): void {
    this.#backup = this.#cluster.store.contents;
  }

  /**
   * Refuses new connections at once and breaks the others, then serves again on the same port.
   * Throws a 400 when there is no backup to restore.
   */
  restart(options: RestartOptions = {}): Promise<void> {
    if (options.data === 'backup' && !this.#backup) {
      throw new ApiError('BadRequest', 'there is no backup');
    }
    return this.#restart(options);
  }

  async #restart(options: RestartOptions): Promise<void> {
    const { downMs = 0, data = 'same', hasHistory = true, refusedWatches = 0 } = options;
    // A request for this over HTTP is answered before its connection breaks.
    await this.#listener.close(setImmediate());
    if (data !== 'same') {
      const contents = data === 'backup' ? this.#backup : undefined;
      this.#cluster.start(this.#listener.address, this.port, contents);
    }
    if (!hasHistory) this.#cluster.store.forgetWatches();
    if (refusedWatches > 0) this.#switches.fail(unreadyCache(refusedWatches));
    try {
      await setTimeout(downMs, undefined, { signal: this.#ending.signal });
      await this.#listener.reopen();
    } catch (error) {
      if (!this.#closed) throw error;
    }
  }

  /** What the seed writes is no history, as what etcd has when a kube-apiserver starts. */
  #fill(seed: ApiServerOptions['seed']): void {
    const { store } = this.#cluster;
    const { revision } = store;
    seed?.(this.#objects);
    if (store.revision > revision) store.forgetWatches();
  }
}

/** Starts an API server; see {@link ApiServer.start}. */
export function createApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  return ApiServer.start(options);
}
