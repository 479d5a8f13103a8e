import { setPriority } from 'node:os';
import { type ApiServer, createApiServer, type ObjectAccess } from '@kube-dns/apiserver';
import { monotonicMs } from '@kube-dns/testkit';
import {
  namespaceObject,
  namespaceOf,
  NAMESPACES,
  Schedule,
  type SchedulePlan,
  serviceObject,
  serviceState,
  sliceName,
  sliceObject,
} from './cluster-state.js';

/** What was done to a cluster so far. */
export interface ClusterFigures {
  readonly changes: number;
  /** How late a change came at the most since the last look, in ms. */
  readonly maxLateMs: number;
  /** Requests of clients: lists and watches. */
  readonly lists: number;
  readonly watches: number;
}

/** The methods of a cluster in its own process. */
export interface SoakClusterMethods {
  /** Serves the cluster at version 0 and returns the URL of its API. */
  start(plan: Omit<SchedulePlan, 'startMs'>): Promise<string>;
  /** Follows the schedule from this moment on. */
  follow(startMs: number): void;
  /** Breaks every watch; `forgets` takes the history, too, so that all must be listed again. */
  reconnect(forgets: boolean): void;
  figures(): ClusterFigures;
}

const TICK_MS = 5;
/** A real API server does not share the cores of the pod: the pod has priority. */
const NICE = 5;
const WATCHED = ['services', 'endpointslices', 'namespaces'] as const;

/** The API server of the proof, with everything that happens to its services. */
export class SoakCluster implements SoakClusterMethods {
  #server: ApiServer | undefined;
  #plan: Omit<SchedulePlan, 'startMs'> | undefined;
  #changes = 0;
  #maxLateMs = 0;

  async start(plan: Omit<SchedulePlan, 'startMs'>): Promise<string> {
    setPriority(NICE);
    this.#plan = plan;
    this.#server = await createApiServer({ seed: (objects) => this.#fill(objects) });
    return this.#server.url;
  }

  follow(startMs: number): void {
    const schedule = new Schedule({ ...this.#plan!, startMs });
    setInterval(() => this.#catchUp(schedule), TICK_MS);
  }

  reconnect(forgets: boolean): void {
    this.#server!.dropWatches();
    if (forgets) this.#server!.compact({ cache: true });
  }

  figures(): ClusterFigures {
    const { requests } = this.#server!;
    const sum = (verb: 'list' | 'watch') =>
      WATCHED.reduce((total, resource) => total + requests.count(verb, resource), 0);
    const maxLateMs = this.#maxLateMs;
    this.#maxLateMs = 0;
    return { changes: this.#changes, maxLateMs, lists: sum('list'), watches: sum('watch') };
  }

  #fill(objects: ObjectAccess): void {
    const { churned, settled } = this.#plan!;
    for (let i = 0; i < NAMESPACES; i++) objects.load([namespaceObject(namespaceOf(i))]);
    for (let i = 0; i < churned + settled; i++) this.#apply(objects, i, 0);
  }

  #catchUp(schedule: Schedule): void {
    const nowMs = monotonicMs();
    const due = schedule.changesDue(nowMs);
    while (this.#changes < due) {
      const { service, version } = schedule.change(this.#changes);
      this.#maxLateMs = Math.max(this.#maxLateMs, nowMs - schedule.dueMs(this.#changes));
      this.#apply(this.#server!.objects, service, version);
      this.#changes++;
    }
  }

  #apply(objects: ObjectAccess, index: number, version: number): void {
    const state = serviceState(index, version);
    const { kind, name, namespace, isThere } = state;
    if (isThere) {
      objects.load([serviceObject(state)]);
      if (kind === 'headless') objects.load([sliceObject(state)]);
      return;
    }
    if (kind === 'headless') objects.delete('EndpointSlice', namespace, sliceName(state));
    objects.delete('Service', namespace, name);
  }
}
