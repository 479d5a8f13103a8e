import { NONE } from './none.js';

const FIRST_SLOTS = 256;

/**
 * The fixed-size part of every entry, a column per field, and three lists through them: the entries of
 * one hash bucket, all entries from the least to the most recently used, and the free slots. An entry
 * is known by its slot.
 */
export class EntryTable {
  #capacity = 0;
  #size = 0;
  #free = NONE;
  #buckets = new Int32Array(FIRST_SLOTS).fill(NONE);
  /** The entry behind in its bucket, or the free slot behind. */
  #next = new Int32Array(0);
  #older = new Int32Array(0);
  #newer = new Int32Array(0);
  #newest = NONE;
  oldest = NONE;
  hashes = new Int32Array(0);
  /** Where the name and the records are; NONE in a free slot. */
  cells = new Int32Array(0);
  nameBytes = new Uint8Array(0);
  recordBytes = new Uint16Array(0);
  types = new Uint16Array(0);
  rcodes = new Uint8Array(0);
  /** Aliases in front, then the records that were asked for, then the SOA of a denial (0 or 1). */
  aliases = new Uint8Array(0);
  setSizes = new Uint16Array(0);
  authorities = new Uint8Array(0);
  /** How far the next answer turns the records that were asked for. */
  turns = new Uint16Array(0);
  /** What it counts of the cache's size. */
  weights = new Uint16Array(0);
  /** Which insertion it was, the first 1. */
  serials = new Float64Array(0);
  storedAt = new Float64Array(0);
  expiresAt = new Float64Array(0);

  get size(): number {
    return this.#size;
  }

  /** Slots are below this number; which of them are in use `isUsed` says. */
  get capacity(): number {
    return this.#capacity;
  }

  /** Bytes that the columns have taken. */
  get takenBytes(): number {
    return this.#buckets.byteLength + this.#capacity * BYTES_PER_SLOT;
  }

  isUsed(slot: number): boolean {
    return this.cells[slot] !== NONE;
  }

  /** The first entry of a hash's bucket, and the one behind an entry; NONE at the end. */
  firstOf(hash: number): number {
    return this.#buckets[hash & (this.#buckets.length - 1)]!;
  }

  behind(slot: number): number {
    return this.#next[slot]!;
  }

  /** Makes the newest entry, whose columns the caller fills. */
  add(hash: number): number {
    if (this.#free === NONE) this.#grow();
    const slot = this.#free;
    this.#free = this.#next[slot]!;
    this.#size++;
    this.hashes[slot] = hash;
    this.#linkBucket(slot);
    this.#append(slot);
    return slot;
  }

  remove(slot: number): void {
    const bucket = this.hashes[slot]! & (this.#buckets.length - 1);
    let before = NONE;
    for (let at = this.#buckets[bucket]!; at !== slot; at = this.#next[at]!) before = at;
    if (before === NONE) this.#buckets[bucket] = this.#next[slot]!;
    else this.#next[before] = this.#next[slot]!;
    this.#unlink(slot);
    this.cells[slot] = NONE;
    this.#next[slot] = this.#free;
    this.#free = slot;
    this.#size--;
  }

  clear(): void {
    this.#buckets.fill(NONE);
    this.cells.fill(NONE);
    this.#size = 0;
    this.#newest = this.oldest = NONE;
    this.#free = NONE;
    this.#freeFrom(0);
  }

  /** Makes an entry the most recently used one. */
  touch(slot: number): void {
    if (this.#newest === slot) return;
    this.#unlink(slot);
    this.#append(slot);
  }

  #append(slot: number): void {
    this.#older[slot] = this.#newest;
    this.#newer[slot] = NONE;
    if (this.#newest !== NONE) this.#newer[this.#newest] = slot;
    else this.oldest = slot;
    this.#newest = slot;
  }

  #unlink(slot: number): void {
    const older = this.#older[slot]!;
    const newer = this.#newer[slot]!;
    if (older !== NONE) this.#newer[older] = newer;
    else this.oldest = newer;
    if (newer !== NONE) this.#older[newer] = older;
    else this.#newest = older;
  }

  #linkBucket(slot: number): void {
    const bucket = this.hashes[slot]! & (this.#buckets.length - 1);
    this.#next[slot] = this.#buckets[bucket]!;
    this.#buckets[bucket] = slot;
  }

  #grow(): void {
    const before = this.#capacity;
    const capacity = before === 0 ? FIRST_SLOTS : before * 2;
    this.#next = widened(Int32Array, this.#next, capacity);
    this.#older = widened(Int32Array, this.#older, capacity);
    this.#newer = widened(Int32Array, this.#newer, capacity);
    this.hashes = widened(Int32Array, this.hashes, capacity);
    this.cells = widened(Int32Array, this.cells, capacity).fill(NONE, before);
    this.nameBytes = widened(Uint8Array, this.nameBytes, capacity);
    this.recordBytes = widened(Uint16Array, this.recordBytes, capacity);
    this.types = widened(Uint16Array, this.types, capacity);
    this.rcodes = widened(Uint8Array, this.rcodes, capacity);
    this.aliases = widened(Uint8Array, this.aliases, capacity);
    this.setSizes = widened(Uint16Array, this.setSizes, capacity);
    this.authorities = widened(Uint8Array, this.authorities, capacity);
    this.turns = widened(Uint16Array, this.turns, capacity);
    this.weights = widened(Uint16Array, this.weights, capacity);
    this.serials = widened(Float64Array, this.serials, capacity);
    this.storedAt = widened(Float64Array, this.storedAt, capacity);
    this.expiresAt = widened(Float64Array, this.expiresAt, capacity);
    this.#capacity = capacity;
    this.#freeFrom(before);
    this.#rehash(capacity);
  }

  #freeFrom(first: number): void {
    for (let slot = this.#capacity - 1; slot >= first; slot--) {
      this.#next[slot] = this.#free;
      this.#free = slot;
    }
  }

  #rehash(capacity: number): void {
    this.#buckets = new Int32Array(capacity).fill(NONE);
    for (let slot = 0; slot < capacity; slot++) if (this.isUsed(slot)) this.#linkBucket(slot);
  }
}

/** The columns of one slot, as they are declared above. */
const BYTES_PER_SLOT = 5 * 4 + 4 * 1 + 4 * 2 + 3 * 8;

type Column = Int32Array | Uint8Array | Uint16Array | Float64Array;

function widened<C extends Column>(
  Kind: new (length: number) => C,
  column: C,
  capacity: number,
): C {
  const wide = new Kind(capacity);
  wide.set(column);
  return wide;
}
