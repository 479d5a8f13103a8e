import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { getPriority, setPriority } from 'node:os';
import { createApiServer, type ApiServer, type ObjectAccess } from '@kube-dns/apiserver';
import { monotonicMs, type Spread, spreadOf } from '@kube-dns/testkit';
import { type Expectation, Ticker } from '../dns/expectation.js';
import {
  type Change,
  type ChangeKind,
  ChangeSource,
  markerObjects,
  nameChangedBy,
  type Toggle,
  toggleNamespace,
  togglesOf,
  type ToggleState,
} from './changes.js';
import {
  ClusterPlan,
  type ClusterSize,
  namespaceObject,
  serviceObject,
  sliceObject,
} from './cluster-plan.js';

/** A cluster that can be listed. */
export interface StartedCluster {
  readonly url: string;
  readonly objects: number;
  /** Bytes of JSON in a list of everything, by resource. */
  readonly listBytes: Readonly<Record<string, number>>;
}

/** Requests of the clients, and the load of the server. */
export interface ClusterStatus {
  /** Lists and watches so far, all resources together. */
  readonly lists: number;
  readonly watches: number;
  /** Sent to all clients so far, as it was on the wire. */
  readonly sentBytes: number;
  readonly rssBytes: number;
  /** Delay of the server's event loop since the last call. */
  readonly ownDelayMs: Spread;
}

/** A service whose name or what is below it has other records since this moment on the monotonic clock. */
export interface NotedChange {
  /** Without final dot. */
  readonly name: string;
  readonly atMs: number;
}

/** The methods of a cluster in its own process. */
export interface BenchClusterMethods {
  start(size: ClusterSize): Promise<StartedCluster>;
  status(): ClusterStatus;
  /**
   * Breaks every watch, changes something, and forgets the history: clients must list again.
   * Returns the answers that DNS has once the last change was read.
   */
  forceRelist(): { readonly atMs: number; readonly expectations: readonly Expectation[] };
  kinds(): readonly ChangeKind[];
  /** Prepares the next change of a kind and returns its expected answer; `write` writes it. */
  prepare(kind: ChangeKind): Expectation;
  /** Writes the prepared change; returns its moment on the monotonic clock. */
  write(): number;
  /** Gives all toggles of the plan their first state. */
  startToggles(): void;
  /** Writes a state of a toggle; returns the moment after it on the monotonic clock. */
  toggle(number: number, state: 0 | 1): number;
  /** Writes this many events per second from now on; with `isNoted`, `notedChanges` has those that change names. */
  startNoise(eventsPerSecond: number, isNoted?: boolean): void;
  /** What was noted since the start of the noise. */
  notedChanges(): readonly NotedChange[];
  /** Stops that; returns the number of written events. */
  stopNoise(): number;
}

const RESOURCES = {
  namespaces: '/api/v1/namespaces',
  services: '/api/v1/services',
  endpointslices: '/apis/discovery.k8s.io/v1/endpointslices',
} as const;
const WARM_PAGE = 500;
const TICK_MS = 1;
/** A real API server does not share the cores of the pod: the measured server has priority. */
const NICE = 5;
/** Large enough for 100,000 services. */
const SERVICE_RANGE = '10.96.0.0/12';

/** An API server with the objects of a plan, and the changes of these objects. */
export class BenchCluster implements BenchClusterMethods {
  /** The connections of clients, closed ones too. */
  readonly #sockets: Socket[] = [];
  #plan: ClusterPlan | undefined;
  #server: ApiServer | undefined;
  #source: ChangeSource | undefined;
  #prepared: Change | undefined;
  #toggles: readonly Toggle[] = [];
  #markers = 0;
  #ticker: Ticker | undefined;
  #noise = { perSecond: 0, startMs: 0, written: 0 };
  #noted: NotedChange[] | undefined;

  async start(size: ClusterSize): Promise<StartedCluster> {
    const plan = new ClusterPlan(size);
    setPriority(getPriority() + NICE);
    subscribe('net.server.socket', (message) => {
      this.#sockets.push((message as { readonly socket: Socket }).socket);
    });
    this.#plan = plan;
    this.#source = new ChangeSource(plan);
    const server = await createApiServer({
      serviceRange: SERVICE_RANGE,
      seed: (objects) => this.#fill(objects, plan),
    });
    this.#server = server;
    const listBytes: Record<string, number> = {};
    for (const [resource, path] of Object.entries(RESOURCES)) {
      listBytes[resource] = await readAll(server.url + path);
    }
    // The garbage of filling is collected now and not during a measurement.
    globalThis.gc?.();
    this.#ticker = new Ticker(TICK_MS, (nowMs) => this.#tick(nowMs));
    return { url: server.url, objects: server.objects.count, listBytes };
  }

  status(): ClusterStatus {
    const { requests } = this.#running;
    const sum = (verb: 'list' | 'watch') =>
      Object.keys(RESOURCES).reduce((total, name) => total + requests.count(verb, name), 0);
    return {
      lists: sum('list'),
      watches: sum('watch'),
      sentBytes: this.#sockets.reduce((total, { bytesWritten }) => total + bytesWritten, 0),
      rssBytes: process.memoryUsage.rss(),
      ownDelayMs: spreadOf(this.#ticker?.takeDelays() ?? []),
    };
  }

  forceRelist(): { readonly atMs: number; readonly expectations: readonly Expectation[] } {
    const server = this.#running;
    const marker = markerObjects(this.#plan!, ++this.#markers);
    const atMs = monotonicMs();
    server.dropWatches();
    // Each resource gets a version that no watch sent and that the history does not have.
    server.objects.load(marker.objects);
    server.compact({ cache: true });
    return { atMs, expectations: marker.expectations };
  }

  kinds(): readonly ChangeKind[] {
    return this.#source!.kinds;
  }

  prepare(kind: ChangeKind): Expectation {
    this.#prepared = this.#source!.timed(kind);
    return this.#prepared.expectation;
  }

  write(): number {
    const change = this.#prepared;
    if (!change) throw new Error('nothing was prepared');
    this.#prepared = undefined;
    const atMs = monotonicMs();
    this.#running.objects.load(change.objects);
    return atMs;
  }

  startToggles(): void {
    this.#toggles = togglesOf(this.#plan!);
    this.#running.objects.load([toggleNamespace()]);
    for (const [first] of this.#toggles) this.#write(first);
  }

  toggle(number: number, state: 0 | 1): number {
    this.#write(this.#toggles[number]![state]);
    return monotonicMs();
  }

  startNoise(eventsPerSecond: number, isNoted = false): void {
    this.#noise = { perSecond: eventsPerSecond, startMs: monotonicMs(), written: 0 };
    this.#noted = isNoted ? [] : undefined;
  }

  notedChanges(): readonly NotedChange[] {
    return this.#noted ?? [];
  }

  stopNoise(): number {
    const { written } = this.#noise;
    this.#noise = { perSecond: 0, startMs: 0, written: 0 };
    return written;
  }

  get #running(): ApiServer {
    if (!this.#server) throw new Error('the cluster was not started');
    return this.#server;
  }

  #write({ put = [], removed }: ToggleState): void {
    const { objects } = this.#running;
    if (removed && objects.get(removed.kind, removed.namespace, removed.name)) {
      objects.delete(removed.kind, removed.namespace, removed.name);
    }
    objects.load(put);
  }

  #fill(objects: ObjectAccess, plan: ClusterPlan): void {
    const { services, slices } = plan.size;
    for (let i = 0; i < plan.namespaces; i++) {
      objects.load([namespaceObject(plan.namespaceName(i))]);
    }
    for (let i = 0; i < services; i++) objects.load([serviceObject(plan, i)]);
    for (let i = 0; i < slices; i++) objects.load([sliceObject(plan, i)]);
    objects.load(markerObjects(plan, this.#markers).objects);
  }

  #tick(nowMs: number): void {
    const { perSecond, startMs, written } = this.#noise;
    const due = Math.floor(((nowMs - startMs) * perSecond) / 1_000);
    for (let i = written; i < due; i++) {
      const object = this.#source!.noise();
      const name = this.#noted && nameChangedBy(object);
      if (name !== undefined) this.#noted?.push({ name, atMs: monotonicMs() });
      this.#running.objects.load([object]);
      this.#noise.written++;
    }
  }
}

/** Reads a list page by page; returns its length in bytes. The server then has its JSON cached. */
async function readAll(url: string): Promise<number> {
  let bytes = 0;
  let next = '';
  do {
    const token = next === '' ? '' : `&continue=${encodeURIComponent(next)}`;
    const response = await fetch(`${url}?limit=${WARM_PAGE}${token}`);
    const body = Buffer.from(await response.arrayBuffer());
    bytes += body.length;
    // The list's own metadata comes before its items.
    const head = body.toString('utf8', 0, body.indexOf('"items"'));
    next = /"continue":"([^"]*)"/.exec(head)?.[1] ?? '';
  } while (next !== '');
  return bytes;
}
