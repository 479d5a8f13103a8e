import { keyOf, type KubeObject } from './object.js';

/** Index of the first item whose key is not less than `key`, in items that are sorted by key. */
export function indexFrom<T>(items: readonly T[], key: string, keyOf: (item: T) => string): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keyOf(items[middle]!) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A change of one object. A deletion carries the last state with the version of the deletion. */
export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  readonly object: KubeObject;
  /** The state before the change. */
  readonly previous: KubeObject | undefined;
}

/**
 * The last events of one resource, oldest first; the oldest are discarded. As beside a real server, watches
 * have only those that its watch cache has, and earlier states also what etcd still has:
 *
 *     floor ≤ watchFloor ≤ last
 */
class EventHistory {
  readonly #limit: number;
  #events: StoreEvent[] = [];
  /** All events after this revision are retained. */
  #floor: number;
  /** Watches may begin at this revision. */
  #watchFloor: number;

  constructor(limit: number, revision: number) {
    this.#limit = limit;
    this.#floor = revision;
    this.#watchFloor = revision;
  }

  append(event: StoreEvent): void {
    this.#events.push(event);
    // Discards half of the events together, so that an append is cheap on average.
    if (this.#events.length < 2 * this.#limit) return;
    this.#discard(this.#events[this.#limit - 1]!.revision);
  }

  /** The oldest revision that a watch may begin at. */
  get watchFloor(): number {
    return this.#watchFloor;
  }

  /** The events after `revision` for a watch, or undefined when it may not begin there. */
  since(revision: number): readonly StoreEvent[] | undefined {
    return revision < this.#watchFloor ? undefined : this.after(revision);
  }

  /** The events after `revision`, or undefined when some of them are discarded. */
  after(revision: number): readonly StoreEvent[] | undefined {
    if (revision < this.#floor) return undefined;
    return this.#events.filter((event) => event.revision > revision);
  }

  /** Watches may no longer begin before `revision`. */
  forgetWatches(revision: number): void {
    this.#watchFloor = revision;
  }

  /** Discards the events that no watch may have. */
  compact(): void {
    this.#discard(this.#watchFloor);
  }

  /** Revision of the last retained event, otherwise of the last discarded one. */
  get last(): number {
    return this.#events.at(-1)?.revision ?? this.#floor;
  }

  #discard(revision: number): void {
    this.#events = this.#events.filter((event) => event.revision > revision);
    this.#floor = revision;
    this.#watchFloor = Math.max(this.#watchFloor, revision);
  }
}

/** Receives each event of a resource, in order. Must not throw. */
type EventListener = (event: StoreEvent) => void;

/** All objects of a store at one version. */
export interface StoreContents {
  readonly revision: number;
  /** By resource. */
  readonly objects: ReadonlyMap<string, readonly KubeObject[]>;
}

interface StoreOptions {
  /** Default: no objects, and the version of a new etcd. */
  readonly contents?: StoreContents | undefined;
  /** Events that are retained per resource, at least; at most twice as many are. */
  readonly historyLimit: number;
}

/** Source: etcd, whose revision is 1 before the first write. */
const EMPTY: StoreContents = { revision: 1, objects: new Map() };

/** Number of earlier lists of a resource, for clients that are between two pages. */
const MAX_SNAPSHOTS = 32;

/** The objects of one resource, with history and listeners. */
interface ResourceState {
  readonly objects: Map<string, KubeObject>;
  readonly history: EventHistory;
  readonly listeners: Set<EventListener>;
  /** Earlier lists by version. */
  readonly snapshots: Map<number, readonly KubeObject[]>;
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
  /** Those who wait for a version, by what ends their waiting. */
  readonly #waits = new Map<() => void, number>();
  readonly #undelivered: { readonly state: ResourceState; readonly event: StoreEvent }[] = [];
  #isDelivering = false;
  #revision: number;

  constructor({ historyLimit, contents = EMPTY }: StoreOptions) {
    this.#historyLimit = historyLimit;
    this.#initialRevision = contents.revision;
    this.#revision = contents.revision;
    for (const [resource, objects] of contents.objects) {
      const state = this.#stateOf(resource);
      for (const object of objects) state.objects.set(keyOf(object), object);
    }
  }

  /** Version of the last write. */
  get revision(): number {
    return this.#revision;
  }

  /** All objects as they are now; later writes do not change it. */
  get contents(): StoreContents {
    const all = [...this.#states].map(
      ([resource, { objects }]) => [resource, [...objects.values()]] as const,
    );
    return { revision: this.#revision, objects: new Map(all) };
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
    if (!previous) keys?.splice(indexFrom(keys, key, itself), 0, key);
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
    keys?.splice(indexFrom(keys, key, itself), 1);
    this.#publish(resource, 'DELETED', object, previous);
    return object;
  }

  /** Calls `listener` with each event from now on; the returned function ends that. */
  subscribe(resource: string, listener: EventListener): () => void {
    const { listeners } = this.#stateOf(resource);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** Resolves when a version is reached, at the latest after a time. */
  async reached(revision: number, withinMs: number): Promise<void> {
    if (revision <= this.#revision) return;
    await new Promise<void>((resolve) => {
      const end = () => {
        this.#waits.delete(end);
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(end, withinMs);
      this.#waits.set(end, revision);
    });
  }

  /** The events of a resource after a version, or undefined when a watch may not begin there. */
  eventsSince(resource: string, revision: number): readonly StoreEvent[] | undefined {
    return this.#stateOf(resource).history.since(revision);
  }

  /** The oldest version that a watch of a resource may begin at. */
  watchFloor(resource: string): number {
    return this.#stateOf(resource).history.watchFloor;
  }

  /** Version of the last known change of a resource. */
  lastChange(resource: string): number {
    return this.#stateOf(resource).history.last;
  }

  /** Begins the history of watches anew, as the watch cache of a server that starts. */
  forgetWatches(): void {
    for (const { history } of this.#states.values()) history.forgetWatches(this.#revision);
  }

  /** Discards what no watch may have: earlier states and the changes since, as a compaction of etcd. */
  compact(): void {
    for (const { history, snapshots } of this.#states.values()) {
      history.compact();
      for (const revision of snapshots.keys()) {
        if (revision < history.watchFloor) snapshots.delete(revision);
      }
    }
  }

  /** Stores the current list of a resource for later pages, if necessary instead of the oldest. */
  storeSnapshot(resource: string): void {
    this.#storeSnapshot(this.#stateOf(resource), this.#revision, this.list(resource));
  }

  /** The list of a resource at a version, or undefined when that is no longer known. */
  listAt(resource: string, revision: number): readonly KubeObject[] | undefined {
    if (revision > this.#revision) return undefined;
    const state = this.#stateOf(resource);
    if (state.history.last <= revision) return this.list(resource);
    const stored = state.snapshots.get(revision);
    if (stored) return stored;
    const events = state.history.after(revision);
    if (!events) return undefined;
    const objects = new Map(state.objects);
    for (const { object, previous } of events.toReversed()) {
      if (previous) objects.set(keyOf(object), previous);
      else objects.delete(keyOf(object));
    }
    const list = [...objects.keys()].sort().map((key) => objects.get(key)!);
    this.#storeSnapshot(state, revision, list);
    return list;
  }

  #storeSnapshot(state: ResourceState, revision: number, list: readonly KubeObject[]): void {
    const { snapshots } = state;
    snapshots.delete(revision);
    snapshots.set(revision, list);
    if (snapshots.size > MAX_SNAPSHOTS) snapshots.delete(snapshots.keys().next().value!);
  }

  #stateOf(resource: string): ResourceState {
    let state = this.#states.get(resource);
    if (!state) {
      const history = new EventHistory(this.#historyLimit, this.#initialRevision);
      state = {
        objects: new Map(),
        history,
        listeners: new Set(),
        snapshots: new Map(),
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
    for (const [end, wanted] of this.#waits) if (wanted <= this.#revision) end();
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
