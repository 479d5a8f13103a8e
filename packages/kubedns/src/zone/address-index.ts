import { finishHash, hashByte, hashBytes, randomSeed } from '@kube-dns/wire';

const FIRST_CAPACITY = 1024;
const FREE_END = -1;
/** The words of an entry, next to each other: a look-up reads one cache line. */
const ENTRY_SHIFT = 2;
const HASH = 0;
const SERVICE = 1;
/** How often the service was added, less how often it was removed. */
const TIMES = 2;
/** The next entry in the bucket, or in the list of free entries. */
const NEXT = 3;

/**
 * The services (by number) that may have an address. It stores only a hash of each address, so a service may be
 * returned that does not have the address: the caller checks. A service is returned once, until it is
 * removed as often as it was added. The hash is seeded per process. The table grows bucket by bucket (linear hashing): all at
 * once takes 30 ms for a million entries.
 */
export class AddressIndex {
  readonly #seed = randomSeed();
  /** The first entry of each bucket, plus one; 0 for none. As many as there is room for entries. */
  #buckets = new Int32Array(FIRST_CAPACITY);
  /** So many of them are in use: what belongs into another one is still in that of half its number. */
  #split = FIRST_CAPACITY;
  #words = new Int32Array(FIRST_CAPACITY << ENTRY_SHIFT);
  #used = 0;
  #free = FREE_END;
  #size = 0;

  /** Number of entries: services, counted once per address. */
  get size(): number {
    return this.#size;
  }

  /** The hash of an address whose bytes are the characters from `at` on. */
  hashText(bytes: string, at: number, size: number): number {
    let hash = this.#seed;
    for (let i = at; i < at + size; i++) hash = hashByte(hash, bytes.charCodeAt(i));
    return finishHash(hash);
  }

  /** The hash of an address in bytes. */
  hashBytes(bytes: Uint8Array, size: number): number {
    return finishHash(hashBytes(this.#seed, bytes, 0, size));
  }

  add(hash: number, service: number): void {
    for (let found = this.first(hash); found >= 0; found = this.next(found)) {
      const at = found << ENTRY_SHIFT;
      if (this.#words[at + SERVICE] !== service) continue;
      this.#words[at + TIMES]!++;
      return;
    }
    const entry = this.#acquireEntry();
    const at = entry << ENTRY_SHIFT;
    this.#words[at + HASH] = hash;
    this.#words[at + SERVICE] = service;
    this.#words[at + TIMES] = 1;
    this.#link(entry);
    this.#size++;
  }

  /** Undoes one `add`; does nothing when there was none. */
  remove(hash: number, service: number): void {
    const words = this.#words;
    const bucket = this.#bucketOf(hash);
    let previous = -1;
    for (let entry = this.#buckets[bucket]! - 1; entry >= 0;) {
      const at = entry << ENTRY_SHIFT;
      const next = words[at + NEXT]!;
      if (words[at + HASH] === hash && words[at + SERVICE] === service) {
        if (--words[at + TIMES]! > 0) return;
        if (previous < 0) this.#buckets[bucket] = next + 1;
        else words[(previous << ENTRY_SHIFT) + NEXT] = next;
        words[at + NEXT] = this.#free;
        this.#free = entry;
        this.#size--;
        return;
      }
      previous = entry;
      entry = next;
    }
  }

  /** The first entry with this hash; -1 when there is none. */
  first(hash: number): number {
    return this.#matching(this.#buckets[this.#bucketOf(hash)]! - 1, hash);
  }

  /** The next entry with the same hash; -1 when there is none. */
  next(entry: number): number {
    const at = entry << ENTRY_SHIFT;
    return this.#matching(this.#words[at + NEXT]!, this.#words[at + HASH]!);
  }

  serviceOf(entry: number): number {
    return this.#words[(entry << ENTRY_SHIFT) + SERVICE]!;
  }

  #matching(entry: number, hash: number): number {
    const words = this.#words;
    while (entry >= 0 && words[(entry << ENTRY_SHIFT) + HASH] !== hash) {
      entry = words[(entry << ENTRY_SHIFT) + NEXT]!;
    }
    return entry;
  }

  #acquireEntry(): number {
    if (this.#free !== FREE_END) {
      const entry = this.#free;
      this.#free = this.#words[(entry << ENTRY_SHIFT) + NEXT]!;
      return entry;
    }
    if (this.#used === this.#buckets.length) this.#grow();
    // One for each new entry: all of them by the time that there is no room again.
    if (this.#split < this.#buckets.length) this.#splitNext();
    return this.#used++;
  }

  #bucketOf(hash: number): number {
    const { length } = this.#buckets;
    const bucket = hash & (length - 1);
    return bucket < this.#split ? bucket : bucket - (length >> 1);
  }

  #link(entry: number): void {
    const at = entry << ENTRY_SHIFT;
    const bucket = this.#bucketOf(this.#words[at + HASH]!);
    this.#words[at + NEXT] = this.#buckets[bucket]! - 1;
    this.#buckets[bucket] = entry + 1;
  }

  /** Doubles the capacity. */
  #grow(): void {
    const words = new Int32Array(this.#words.length * 2);
    words.set(this.#words);
    this.#words = words;
    const buckets = new Int32Array(this.#buckets.length * 2);
    buckets.set(this.#buckets);
    this.#buckets = buckets;
  }

  /** Takes one bucket more into use, and moves there what belongs there. */
  #splitNext(): void {
    const from = this.#split++ - (this.#buckets.length >> 1);
    let entry = this.#buckets[from]! - 1;
    this.#buckets[from] = 0;
    while (entry >= 0) {
      const next = this.#words[(entry << ENTRY_SHIFT) + NEXT]!;
      this.#link(entry);
      entry = next;
    }
  }
}
