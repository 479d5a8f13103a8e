import { randomId } from './random-id.js';

const FIRST_BUCKETS = 16;
/** So many IDs of queries that wait no longer are known at least: more than leave from one port. */
const MAX_PAST = 4_096;
const FIRST_PAST = 16;

/**
 * The queries that wait for a reply on one socket or connection, by their IDs: those are random, so a bucket is the end of
 * the ID. A Map would be half of the cost of a query: V8 replaces its table again and again, and each old table retains
 * the next one and all that it had until the next full collection.
 */
export class SentTable<Sent extends { readonly id: number; next: Sent | undefined }> {
  #buckets = emptyBuckets<Sent>(FIRST_BUCKETS);
  #size = 0;
  /** The IDs of those that were removed, the last of them in a ring. */
  #past = new Uint16Array(FIRST_PAST);
  #pastCount = 0;

  get size(): number {
    return this.#size;
  }

  /** An ID that is hard to guess, and that none of them has. */
  drawId(): number {
    let id = randomId();
    while (this.find(id) !== undefined) id = randomId();
    return id;
  }

  find(id: number): Sent | undefined {
    let sent = this.#buckets[id & (this.#buckets.length - 1)];
    while (sent !== undefined && sent.id !== id) sent = sent.next;
    return sent;
  }

  /** Adds one whose ID is free. */
  add(sent: Sent): void {
    if (this.#size === this.#buckets.length) this.#grow();
    this.#size++;
    this.#link(sent);
  }

  /** Removes one; false when it is not in the table. */
  remove(sent: Sent): boolean {
    const at = sent.id & (this.#buckets.length - 1);
    const first = this.#buckets[at];
    if (first === sent) this.#buckets[at] = sent.next;
    else {
      let before = first;
      while (before !== undefined && before.next !== sent) before = before.next;
      if (before === undefined) return false;
      before.next = sent.next;
    }
    sent.next = undefined;
    this.#size--;
    this.#notePast(sent.id);
    return true;
  }

  /** Whether a query that waits no longer had this ID: its reply may be late, or come twice. */
  hadId(id: number): boolean {
    return this.#past.subarray(0, this.#pastCount).includes(id);
  }

  /** All of them now, in any order. */
  all(): Sent[] {
    const all: Sent[] = [];
    for (const first of this.#buckets) {
      for (let sent = first; sent !== undefined; sent = sent.next) all.push(sent);
    }
    return all;
  }

  clear(): void {
    this.#buckets = emptyBuckets(FIRST_BUCKETS);
    this.#size = 0;
  }

  #notePast(id: number): void {
    const { length } = this.#past;
    if (this.#pastCount === length && length < MAX_PAST) {
      const past = new Uint16Array(2 * length);
      past.set(this.#past);
      this.#past = past;
    }
    this.#past[this.#pastCount++ % this.#past.length] = id;
  }

  #link(sent: Sent): void {
    const at = sent.id & (this.#buckets.length - 1);
    sent.next = this.#buckets[at];
    this.#buckets[at] = sent;
  }

  #grow(): void {
    const all = this.all();
    this.#buckets = emptyBuckets(this.#buckets.length * 2);
    for (const sent of all) this.#link(sent);
  }
}

function emptyBuckets<Sent>(count: number): (Sent | undefined)[] {
  return new Array<Sent | undefined>(count).fill(undefined);
}
