import { finishHash, hashBytes, randomSeed } from '@kube-dns/wire';
import { NONE } from '@kube-dns/resolver';
import type { ByteArena } from './byte-arena.js';
import { NumberColumn } from './number-column.js';

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
