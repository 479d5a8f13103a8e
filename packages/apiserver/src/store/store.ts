import { keyOf, type KubeObject } from '../object.js';
import { EventHistory, type StoreEvent } from './event-history.js';
import { indexAfter } from './sorted-items.js';

/** Receives each event of a resource, in order. Must not throw. */
export type EventListener = (event: StoreEvent) => void;

/** The first version of a store and the size of its history. */
export interface StoreOptions {
  /** Version before the first write. */
  readonly revision: number;
  /** Events that are retained per resource, at least; at most twice as many are. */
  readonly historyLimit: number;
}

/** Number of list snapshots for clients that are between two pages. */
const MAX_SNAPSHOTS = 32;

/** The objects of one resource, with history and listeners. */
interface ResourceState {
  readonly objects: Map<string, KubeObject>;
  readonly history: EventHistory;
  readonly listeners: Set<EventListener>;
  /** All keys in order, updated after the first list: sorting 50,000 takes 80 ms. */
  keys: string[] | undefined;
  /** The objects in key order; undefined after a change. Never changed in place. */
  sorted: readonly KubeObject[] | undefined;
}

const itself = (key: string) => key;

/**
 * Objects of all resources under one version counter, with history and listeners.
 *
 * Listeners receive events in the order of their versions, even when a listener writes: the events
 * of that write are delivered after all listeners have received the current one.
 */
export class Store {
  readonly #states = new Map<string, ResourceState>();
  readonly #historyLimit: number;
  readonly #initialRevision: number;
  readonly #snapshots = new Map<string, readonly KubeObject[]>();
  readonly #undelivered: { readonly state: ResourceState; readonly event: StoreEvent }[] = [];
  #isDelivering = false;
  #revision: number;

  constructor(options: StoreOptions) {
    this.#historyLimit = options.historyLimit;
    this.#initialRevision = options.revision;
    this.#revision = options.revision;
  }

  /** Version of the last write. */
  get revision(): number {
    return this.#revision;
  }

  get(resource: string, key: string): KubeObject | undefined {
    return this.#stateOf(resource).objects.get(key);
  }

  /** All objects of a resource in key order; the array is a snapshot. */
  list(resource: string): readonly KubeObject[] {
    const state = this.#stateOf(resource);
    state.keys ??= [...state.objects.keys()].sort();
    state.sorted ??= state.keys.map((key) => state.objects.get(key)!);
    return state.sorted;
  }

  /** Number of objects of a resource, or of all resources. */
  count(resource?: string): number {
    if (resource !== undefined) return this.#stateOf(resource).objects.size;
    return [...this.#states.values()].reduce((sum, { objects }) => sum + objects.size, 0);
  }

  /** Stores `object` under the next version, which is written into its metadata. */
  put(resource: string, object: KubeObject): KubeObject {
    const key = keyOf(object);
    const previous = this.get(resource, key);
    this.#revision += 1;
    object.metadata.resourceVersion = String(this.#revision);
    const { objects, keys } = this.#stateOf(resource);
    objects.set(key, object);
    if (!previous) keys?.splice(indexAfter(keys, key, itself), 0, key);
    this.#publish(resource, previous ? 'MODIFIED' : 'ADDED', object, previous);
    return object;
  }

  /** Removes an object if it exists and returns its last state under the new version. */
  remove(resource: string, key: string): KubeObject | undefined {
    const previous = this.get(resource, key);
    if (!previous) return undefined;
    this.#revision += 1;
    const resourceVersion = String(this.#revision);
    const object = { ...previous, metadata: { ...previous.metadata, resourceVersion } };
    const { objects, keys } = this.#stateOf(resource);
    objects.delete(key);
    keys?.splice(indexAfter(keys, key, itself) - 1, 1);
    this.#publish(resource, 'DELETED', object, previous);
    return object;
  }

  /** Calls `listener` with each event from now on; the returned function ends that. */
  subscribe(resource: string, listener: EventListener): () => void {
    const { listeners } = this.#stateOf(resource);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** The events of a resource after a version, or undefined when some are discarded. */
  eventsSince(resource: string, revision: number): readonly StoreEvent[] | undefined {
    return this.#stateOf(resource).history.since(revision);
  }

  /** Discards all history and all list snapshots. */
  compact(): void {
    this.#snapshots.clear();
    for (const { history } of this.#states.values()) history.compact(this.#revision);
  }

  /** Stores the current list of a resource for later pages, if necessary instead of the oldest. */
  storeSnapshot(resource: string): void {
    const name = `${resource}@${this.#revision}`;
    this.#snapshots.delete(name);
    this.#snapshots.set(name, this.list(resource));
    if (this.#snapshots.size > MAX_SNAPSHOTS) {
      this.#snapshots.delete(this.#snapshots.keys().next().value!);
    }
  }

  /** The list of a resource at a version, or undefined when it is no longer stored. */
  listAt(resource: string, revision: number): readonly KubeObject[] | undefined {
    const isUnchanged =
      revision <= this.#revision && this.#stateOf(resource).history.last <= revision;
    if (isUnchanged) return this.list(resource);
    return this.#snapshots.get(`${resource}@${revision}`);
  }

  #stateOf(resource: string): ResourceState {
    let state = this.#states.get(resource);
    if (!state) {
      const history = new EventHistory(this.#historyLimit, this.#initialRevision);
      state = {
        objects: new Map(),
        history,
        listeners: new Set(),
        keys: undefined,
        sorted: undefined,
      };
      this.#states.set(resource, state);
    }
    return state;
  }

  #publish(
    resource: string,
    type: StoreEvent['type'],
    object: KubeObject,
    previous: KubeObject | undefined,
  ): void {
    const state = this.#stateOf(resource);
    const event = { type, revision: this.#revision, object, previous };
    state.sorted = undefined;
    state.history.append(event);
    this.#undelivered.push({ state, event });
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    try {
      for (let next = this.#undelivered.shift(); next; next = this.#undelivered.shift()) {
        for (const listener of next.state.listeners) listener(next.event);
      }
    } finally {
      this.#isDelivering = false;
    }
  }
}
