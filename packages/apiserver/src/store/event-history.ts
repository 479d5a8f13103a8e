import type { KubeObject } from '../object.js';

/** A change of one object. A deletion carries the last state with the version of the deletion. */
export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  readonly object: KubeObject;
  /** The state before the change. */
  readonly previous: KubeObject | undefined;
}

/** The last events of one resource, oldest first; the oldest are discarded. */
export class EventHistory {
  readonly #limit: number;
  #events: StoreEvent[] = [];
  /** All events after this revision are retained. */
  #floor: number;

  constructor(limit: number, revision: number) {
    this.#limit = limit;
    this.#floor = revision;
  }

  append(event: StoreEvent): void {
    this.#events.push(event);
    // Discards half of the events together, so that an append is cheap on average.
    if (this.#events.length < 2 * this.#limit) return;
    this.#floor = this.#events[this.#limit - 1]!.revision;
    this.#events = this.#events.slice(this.#limit);
  }

  /** The events after `revision`, or undefined when some of them are discarded. */
  since(revision: number): readonly StoreEvent[] | undefined {
    if (revision < this.#floor) return undefined;
    return this.#events.filter((event) => event.revision > revision);
  }

  /** Discards all events, up to `revision`. */
  compact(revision: number): void {
    this.#events = [];
    this.#floor = revision;
  }

  /** Revision of the last retained event, otherwise of the last discarded one. */
  get last(): number {
    return this.#events.at(-1)?.revision ?? this.#floor;
  }
}
