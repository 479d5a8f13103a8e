import { NONE } from '@kube-dns/resolver';
import { finishHash, hashBytes, randomSeed } from '@kube-dns/wire';

const SHARD_BITS = 8;
const SHARDS = 1 << SHARD_BITS;
const FIRST_BUCKETS = 4;

/**
 * Numbers keys that are bytes, 0, 1, 2 …, and finds them again. It is for hundreds of thousands of keys: a
 * key needs no object, and one of 256 parts grows at a time, so no addition takes long. The hash is
 * seeded per index, as in NameTable.
 */
export class ByteIndex {
  readonly #arena: ByteArena;
  readonly #seed = randomSeed();
  /** By key: where it is, its length and hash, and the next key of its bucket. */
  readonly #places = new NumberColumn();
  readonly #lengths = new NumberColumn();
  readonly #hashes = new NumberColumn();
  readonly #next = new NumberColumn();
  /** The first key of each bucket, by part. */
  readonly #shards = Array.from({ length: SHARDS }, () => emptyBuckets(FIRST_BUCKETS));
  readonly #counts = new Int32Array(SHARDS);

  /** Keys are stored in the arena, which may contain other data. */
  constructor(arena: ByteArena) {
    this.#arena = arena;
  }

  get size(): number {
    return this.#places.length;
  }

  /** Where in the arena a key is. */
  placeOf(key: number): number {
    return this.#places.at(key);
  }

  lengthOf(key: number): number {
    return this.#lengths.at(key);
  }

  /** The number of a key; NONE when there is none. */
  find(bytes: Uint8Array, start: number, end: number): number {
    return this.size === 0 ? NONE : this.#find(bytes, start, end, this.#hash(bytes, start, end));
  }

  /**
   * Returns the number of a key, and adds a new one. `place` is the key's place in the arena if it is
   * already there; with NONE it is copied.
   */
  add(bytes: Uint8Array, start: number, end: number, place = NONE): number {
    const hash = this.#hash(bytes, start, end);
    const existing = this.#find(bytes, start, end, hash);
    if (existing !== NONE) return existing;
    const key = this.#places.push(place === NONE ? this.#arena.put(bytes, start, end) : place);
    this.#lengths.push(end - start);
    this.#hashes.push(hash);
    this.#next.push(NONE);
    const shard = shardOf(hash);
    if (this.#counts[shard] === this.#shards[shard]!.length) this.#grow(shard);
    this.#counts[shard]!++;
    this.#link(key, hash, this.#shards[shard]!);
    return key;
  }

  #find(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const buckets = this.#shards[shardOf(hash)]!;
    let key = buckets[bucketOf(hash, buckets)]!;
    for (; key !== NONE; key = this.#next.at(key)) {
      if (this.#hashes.at(key) !== hash || this.#lengths.at(key) !== end - start) continue;
      if (this.#arena.isAt(this.#places.at(key), bytes, start, end)) break;
    }
    return key;
  }

  #grow(shard: number): void {
    const old = this.#shards[shard]!;
    const buckets = emptyBuckets(old.length * 2);
    for (const first of old) {
      for (let key = first; key !== NONE;) {
        const next = this.#next.at(key);
        this.#link(key, this.#hashes.at(key), buckets);
        key = next;
      }
    }
    this.#shards[shard] = buckets;
  }

  #link(key: number, hash: number, buckets: Int32Array): void {
    const bucket = bucketOf(hash, buckets);
    this.#next.set(key, buckets[bucket]!);
    buckets[bucket] = key;
  }

  /** Its low bits choose part and bucket. */
  #hash(bytes: Uint8Array, start: number, end: number): number {
    return finishHash(hashBytes(this.#seed, bytes, start, end));
  }
}

function emptyBuckets(length: number): Int32Array {
  return new Int32Array(length).fill(NONE);
}

function shardOf(hash: number): number {
  return hash & (SHARDS - 1);
}

function bucketOf(hash: number, { length }: Int32Array): number {
  return (hash >>> SHARD_BITS) & (length - 1);
}

/** A piece is in one block, so it is shorter than this. */
const BLOCK_BITS = 16;
const BLOCK_BYTES = 1 << BLOCK_BITS;
const OFFSET_MASK = BLOCK_BYTES - 1;

/**
 * Short pieces of bytes, stored in large blocks: a separate array would cost 100 bytes for each. Pieces are
 * added, and only released all together.
 */
export class ByteArena {
  readonly #blocks: Uint8Array[] = [];
  #used = BLOCK_BYTES;

  /** Stores a copy of a piece and returns its place. */
  put(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    if (this.#used + length > BLOCK_BYTES) {
      this.#blocks.push(new Uint8Array(BLOCK_BYTES));
      this.#used = 0;
    }
    const block = this.#blocks.length - 1;
    const target = this.#blocks[block]!;
    const at = this.#used;
    for (let i = 0; i < length; i++) target[at + i] = bytes[start + i]!;
    this.#used += length;
    return block * BLOCK_BYTES + at;
  }

  /** Whether the piece at a place is these bytes. */
  isAt(place: number, bytes: Uint8Array, start: number, end: number): boolean {
    const block = this.#blocks[place >>> BLOCK_BITS]!;
    const at = place & OFFSET_MASK;
    for (let i = start; i < end; i++) if (block[at + i - start] !== bytes[i]) return false;
    return true;
  }

  /** Copies the piece at a place into `out`, which is as long as the piece. */
  copy(place: number, out: Uint8Array): void {
    const block = this.#blocks[place >>> BLOCK_BITS]!;
    const at = place & OFFSET_MASK;
    for (let i = 0; i < out.length; i++) out[i] = block[at + i]!;
  }
}

const FIRST_NUMBERS = 256;

/**
 * A list of whole numbers of 31 bits. It is outside the heap that the garbage collector walks, and growing is
 * one copy: a million numbers take a millisecond.
 */
export class NumberColumn {
  #numbers = new Int32Array(FIRST_NUMBERS);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The number at an index below `length`. */
  at(index: number): number {
    return this.#numbers[index]!;
  }

  set(index: number, number: number): void {
    this.#numbers[index] = number;
  }

  /** Adds a number and returns its index. */
  push(number: number): number {
    if (this.#length === this.#numbers.length) {
      const larger = new Int32Array(this.#length * 2);
      larger.set(this.#numbers);
      this.#numbers = larger;
    }
    this.#numbers[this.#length] = number;
    return this.#length++;
  }
}
