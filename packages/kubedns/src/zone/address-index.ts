import { finishHash, hashByte, hashBytes, randomSeed } from '@kube-dns/wire';

const FIRST_CAPACITY = 1024;
const FREE_END = -1;

/**
 * The owners (numbers) that may have an address. It stores only a hash of each address, so an owner may be
 * returned that does not have the address: the caller checks. An owner is returned once, until it is
 * removed as often as it was added. The hash is seeded per process.
 */
export class AddressIndex {
  readonly #seed = randomSeed();
  /** The first entry of each bucket, plus one; 0 for none. */
  #buckets = new Int32Array(FIRST_CAPACITY);
  #hashes = new Int32Array(FIRST_CAPACITY);
  #owners = new Uint32Array(FIRST_CAPACITY);
  /** How often the owner was added, less how often it was removed. */
  #times = new Uint32Array(FIRST_CAPACITY);
  /** The next entry in the bucket, or in the list of free entries. */
  #next = new Int32Array(FIRST_CAPACITY);
  #used = 0;
  #free = FREE_END;
  #size = 0;

  /** Number of entries: owners, counted once per address. */
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

  add(hash: number, owner: number): void {
    for (let found = this.first(hash); found >= 0; found = this.next(found)) {
      if (this.#owners[found] !== owner) continue;
      this.#times[found]!++;
      return;
    }
    const entry = this.#takeEntry();
    const bucket = hash & (this.#buckets.length - 1);
    this.#hashes[entry] = hash;
    this.#owners[entry] = owner;
    this.#times[entry] = 1;
    this.#next[entry] = this.#buckets[bucket]! - 1;
    this.#buckets[bucket] = entry + 1;
    this.#size++;
  }

  /** Undoes one `add`; does nothing when there was none. */
  remove(hash: number, owner: number): void {
    const bucket = hash & (this.#buckets.length - 1);
    let previous = -1;
    for (let entry = this.#buckets[bucket]! - 1; entry >= 0; entry = this.#next[entry]!) {
      if (this.#hashes[entry] === hash && this.#owners[entry] === owner) {
        if (--this.#times[entry]! > 0) return;
        if (previous < 0) this.#buckets[bucket] = this.#next[entry]! + 1;
        else this.#next[previous] = this.#next[entry]!;
        this.#next[entry] = this.#free;
        this.#free = entry;
        this.#size--;
        return;
      }
      previous = entry;
    }
  }

  /** The first entry with this hash; -1 when there is none. */
  first(hash: number): number {
    return this.#matching(this.#buckets[hash & (this.#buckets.length - 1)]! - 1, hash);
  }

  /** The next entry with the same hash; -1 when there is none. */
  next(entry: number): number {
    return this.#matching(this.#next[entry]!, this.#hashes[entry]!);
  }

  ownerOf(entry: number): number {
    return this.#owners[entry]!;
  }

  #matching(entry: number, hash: number): number {
    while (entry >= 0 && this.#hashes[entry] !== hash) entry = this.#next[entry]!;
    return entry;
  }

  #takeEntry(): number {
    if (this.#free !== FREE_END) {
      const entry = this.#free;
      this.#free = this.#next[entry]!;
      return entry;
    }
    if (this.#used === this.#hashes.length) this.#grow();
    return this.#used++;
  }

  /** Doubles the capacity; every entry is in use at this moment. */
  #grow(): void {
    const capacity = this.#used * 2;
    this.#hashes = copyInto(new Int32Array(capacity), this.#hashes);
    this.#owners = copyInto(new Uint32Array(capacity), this.#owners);
    this.#times = copyInto(new Uint32Array(capacity), this.#times);
    this.#next = new Int32Array(capacity);
    this.#buckets = new Int32Array(capacity);
    for (let entry = 0; entry < this.#used; entry++) {
      const bucket = this.#hashes[entry]! & (capacity - 1);
      this.#next[entry] = this.#buckets[bucket]! - 1;
      this.#buckets[bucket] = entry + 1;
    }
  }
}

function copyInto<T extends Int32Array | Uint32Array>(larger: T, smaller: T): T {
  larger.set(smaller);
  return larger;
}
