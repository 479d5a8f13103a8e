import type { KubeObject } from '../object.js';

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
export class EventHistory {
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
