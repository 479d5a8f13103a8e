import { type CountedKey, SpaceSaving } from './space-saving.js';

const COUNTERS = 256;

/** The most frequent keys of the last half to whole minute: what is counted now, and the half minute before. */
export class TopList {
  #current: SpaceSaving;
  #before: SpaceSaving;

  /** Keys have `keyBytes` at most. */
  constructor(keyBytes: number) {
    this.#current = new SpaceSaving(COUNTERS, keyBytes);
    this.#before = new SpaceSaving(COUNTERS, keyBytes);
  }

  /** Counts a key, the first `length` bytes of `key`, so many times. */
  add(key: Uint8Array, length: number, times: number): void {
    this.#current.add(key, length, times);
  }

  /** A half minute is over. */
  rotate(): void {
    const oldest = this.#before;
    this.#before = this.#current;
    this.#current = oldest;
    oldest.clear();
  }

  /** The first of the list, highest first. A key that one of the two does not have may have had its floor there. */
  first(limit: number): CountedKey[] {
    const found = [...this.#current.keys()].map(({ key, count, error }) =>
      sum(key, { count, error }, this.#before.countOf(key)),
    );
    const isFound = new Set(found.map(({ key }) => Buffer.from(key).toString('latin1')));
    for (const { key, count, error } of this.#before.keys()) {
      if (isFound.has(Buffer.from(key).toString('latin1'))) continue;
      found.push(sum(key, { count, error }, this.#current.countOf(key)));
    }
    return found.sort((a, b) => b.count - a.count || a.error - b.error).slice(0, limit);
  }
}

type Counted = Pick<CountedKey, 'count' | 'error'>;

function sum(key: Uint8Array, a: Counted, b: Counted): CountedKey {
  return { key, count: a.count + b.count, error: a.error + b.error };
}
