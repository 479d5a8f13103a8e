import { finishHash, FNV_OFFSET, hashBytes, randomSeed } from '@kube-dns/wire';

/** A key of a list, how often it was counted, and by how much that may be too high. */
export interface CountedKey {
  readonly key: Uint8Array;
  readonly count: number;
  readonly error: number;
}

/** Buckets per counter: chains stay short. */
const BUCKETS_PER_COUNTER = 2;
const NONE = -1;

/**
 * Counts the most frequent keys with a fixed number of counters (Metwally, Agrawal and El Abbadi, "Efficient
 * computation of frequent and top-k elements in data streams", 2005). A key without a counter takes over the lowest one,
 * with its count as the error. So no count is too low, `count - error` is never too high, and a key with more than one
 * in `counters` of all questions is in the list. Allocates nothing after its construction.
 */
export class SpaceSaving {
  readonly #counts: Float64Array;
  readonly #errors: Float64Array;
  readonly #hashes: Int32Array;
  /** The keys, each in a slot of `#keyBytes`, and how long they are. */
  readonly #keys: Uint8Array;
  readonly #lengths: Uint8Array;
  readonly #keyBytes: number;
  /** By the hash: the first counter of a bucket, and the next one of each. */
  readonly #buckets: Int16Array;
  readonly #next: Int16Array;
  readonly #seed = finishHash(FNV_OFFSET ^ randomSeed());
  #used = 0;
  /** No count is lower, once all are used; where the search for the next one that has it begins. */
  #lowest = 0;
  #cursor = 0;

  /** Keys have `keyBytes` at most, and that is 255 at most. */
  constructor(counters: number, keyBytes: number) {
    this.#counts = new Float64Array(counters);
    this.#errors = new Float64Array(counters);
    this.#hashes = new Int32Array(counters);
    this.#keys = new Uint8Array(counters * keyBytes);
    this.#lengths = new Uint8Array(counters);
    this.#keyBytes = keyBytes;
    this.#buckets = new Int16Array(counters * BUCKETS_PER_COUNTER).fill(NONE);
    this.#next = new Int16Array(counters);
  }

  /** What a key that is not in the list may have been counted. */
  get floor(): number {
    return this.#used < this.#counts.length ? 0 : Math.min(...this.#counts);
  }

  /** Counts a key, the first `length` bytes of `key`, so many times. */
  add(key: Uint8Array, length: number, times: number): void {
    const hash = finishHash(hashBytes(this.#seed, key, 0, length));
    const known = this.#find(hash, key, length);
    if (known !== NONE) {
      this.#counts[known]! += times;
      return;
    }
    const isNew = this.#used < this.#counts.length;
    const slot = isNew ? this.#used++ : this.#takeLowest();
    const before = isNew ? 0 : this.#counts[slot]!;
    this.#errors[slot] = before;
    this.#counts[slot] = before + times;
    this.#set(slot, hash, key, length);
  }

  /** The count of a key, and its error; those of a key that is not in the list are the floor. */
  countOf(key: Uint8Array): Pick<CountedKey, 'count' | 'error'> {
    const hash = finishHash(hashBytes(this.#seed, key, 0, key.length));
    const slot = this.#find(hash, key, key.length);
    if (slot === NONE) return { count: this.floor, error: this.floor };
    return { count: this.#counts[slot]!, error: this.#errors[slot]! };
  }

  /** What is counted, in no order; copies. */
  *keys(): Generator<CountedKey> {
    for (let slot = 0; slot < this.#used; slot++) {
      const start = slot * this.#keyBytes;
      const key = this.#keys.slice(start, start + this.#lengths[slot]!);
      yield { key, count: this.#counts[slot]!, error: this.#errors[slot]! };
    }
  }

  clear(): void {
    this.#buckets.fill(NONE);
    this.#used = this.#lowest = this.#cursor = 0;
  }

  #bucketOf(hash: number): number {
    return (hash >>> 0) % this.#buckets.length;
  }

  #find(hash: number, key: Uint8Array, length: number): number {
    let slot = this.#buckets[this.#bucketOf(hash)]!;
    while (slot !== NONE && !this.#is(slot, hash, key, length)) slot = this.#next[slot]!;
    return slot;
  }

  #is(slot: number, hash: number, key: Uint8Array, length: number): boolean {
    if (this.#hashes[slot] !== hash || this.#lengths[slot] !== length) return false;
    const start = slot * this.#keyBytes;
    for (let i = 0; i < length; i++) if (this.#keys[start + i] !== key[i]) return false;
    return true;
  }

  #set(slot: number, hash: number, key: Uint8Array, length: number): void {
    const start = slot * this.#keyBytes;
    for (let i = 0; i < length; i++) this.#keys[start + i] = key[i]!;
    this.#hashes[slot] = hash;
    this.#lengths[slot] = length;
    const bucket = this.#bucketOf(hash);
    this.#next[slot] = this.#buckets[bucket]!;
    this.#buckets[bucket] = slot;
  }

  /** Takes the lowest counter from its key. Counts only rise, so the search goes on where the last one ended. */
  #takeLowest(): number {
    const counts = this.#counts;
    for (let left = counts.length; left > 0; left--) {
      const slot = this.#cursor;
      this.#cursor = (slot + 1) % counts.length;
      if (counts[slot]! <= this.#lowest) {
        this.#unlink(slot);
        return slot;
      }
    }
    this.#lowest = Number.POSITIVE_INFINITY;
    for (const count of counts) if (count < this.#lowest) this.#lowest = count;
    return this.#takeLowest();
  }

  #unlink(slot: number): void {
    const bucket = this.#bucketOf(this.#hashes[slot]!);
    const first = this.#buckets[bucket]!;
    if (first === slot) {
      this.#buckets[bucket] = this.#next[slot]!;
      return;
    }
    let before = first;
    while (this.#next[before] !== slot) before = this.#next[before]!;
    this.#next[before] = this.#next[slot]!;
  }
}
