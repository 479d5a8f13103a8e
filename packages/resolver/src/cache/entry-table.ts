import { FLAG } from '@kube-dns/wire';
import { CellStore } from './cell-store.js';
import { BYTES_PER_ENTRY, createColumns, type EntryColumns } from './entry-fields.js';
import type { CacheableAnswer } from './cacheable-answer.js';
import { NONE } from '../none.js';

/** A name, then its records, before they are copied into the cells; of any cache. */
const scratch = new Uint8Array(0x1_0100);

const FIRST_SLOTS = 256;
/** As many as a byte has. */
const SUBSCRIPTION_NUMBERS = 256;

/**
 * The entries of the cache: their fields in columns, their names and records in cells, and three lists
 * through them: the entries of one hash bucket, all entries from the least to the most recently used, and
 * the free slots. An entry is identified by its slot.
 */
export class EntryTable {
  /** Replaced when the table grows. */
  columns: EntryColumns = createColumns(0);
  #capacity = 0;
  #size = 0;
  #free = NONE;
  #buckets = new Int32Array(FIRST_SLOTS).fill(NONE);
  /** The same of the entries with a subscription, by their owners; empty until there is one. */
  #ownerBuckets = new Int32Array(0);
  /** How many entries each subscription has, by its number. */
  readonly #subscribed = new Uint32Array(SUBSCRIPTION_NUMBERS);
  #newest = NONE;
  oldest = NONE;
  readonly #cells = new CellStore();

  get size(): number {
    return this.#size;
  }

  /** Slots are below this number; which of them are in use `isUsed` says. */
  get capacity(): number {
    return this.#capacity;
  }

  /** Bytes of names and records now, and their maximum. */
  get usedBytes(): number {
    return this.#cells.usedBytes;
  }
  get peakBytes(): number {
    return this.#cells.peakBytes;
  }

  /** Bytes of allocated memory. */
  get takenBytes(): number {
    const bucketBytes = this.#buckets.byteLength + this.#ownerBuckets.byteLength;
    const columnBytes = bucketBytes + this.#capacity * BYTES_PER_ENTRY;
    return columnBytes + this.#cells.takenBytes;
  }

  /** The bytes that an answer's name and records would use. */
  static bytesOf({ nameLength, length, reasons }: CacheableAnswer): number {
    return CellStore.roundUp(nameLength + length + reasons.length);
  }

  /** The bytes that an entry's name and records use. */
  bytesAt(slot: number): number {
    const { nameBytes, recordBytes, reasonBytes } = this.columns;
    return CellStore.roundUp(nameBytes[slot]! + recordBytes[slot]! + reasonBytes[slot]!);
  }

  isUsed(slot: number): boolean {
    return this.columns.cell[slot] !== NONE;
  }

  /** The entry of a name and a type, by the hash of both; NONE when there is none. */
  find(name: Uint8Array, length: number, hash: number, type: number): number {
    const { hash: hashes, type: types, nameBytes, cell, next } = this.columns;
    let slot = this.#buckets[bucketOf(hash, this.#buckets)]!;
    for (; slot !== NONE; slot = next[slot]!) {
      const isLike = hashes[slot] === hash && types[slot] === type && nameBytes[slot] === length;
      if (isLike && this.#cells.startsWith(cell[slot]!, name, length)) break;
    }
    return slot;
  }

  /** Makes the newest entry, the `serial`-th, and returns its slot; its hash is that of its name with its type. */
  add(answer: CacheableAnswer, hash: number, serial: number, now: number): number {
    const slot = this.#takeSlot();
    const { columns } = this;
    columns.hash[slot] = hash;
    columns.cell[slot] = this.#putBytes(answer);
    columns.nameBytes[slot] = answer.nameLength;
    columns.recordBytes[slot] = answer.length;
    columns.reasonBytes[slot] = answer.reasons.length;
    columns.type[slot] = answer.type;
    columns.flags[slot] = answer.rcode | (answer.isAuthoritative ? FLAG.AA : 0);
    columns.cnames[slot] = answer.cnames;
    columns.setSize[slot] = answer.setSize;
    columns.authorities[slot] = answer.authorities;
    columns.turn[slot] = 0;
    columns.serial[slot] = serial;
    columns.subscription[slot] = 0;
    columns.hits[slot] = 0;
    columns.isOfCluster[slot] = Number(answer.isOfCluster);
    columns.triedAtMs[slot] = 0;
    columns.storedAt[slot] = now;
    // A TTL of 0, which only a cache that serves stale answers stores, is good for the moment.
    columns.expiresAt[slot] = now + Math.max(answer.lifetimeSeconds, 1);
    this.#linkBucket(slot);
    this.#append(slot);
    return slot;
  }

  remove(slot: number): void {
    const { hash, cell, next, subscription, owner, nextOfOwner } = this.columns;
    unchain(this.#buckets, next, hash, slot);
    if (subscription[slot] !== 0) {
      unchain(this.#ownerBuckets, nextOfOwner, owner, slot);
      this.#subscribed[subscription[slot]!]!--;
    }
    this.#unlink(slot);
    this.#cells.release(cell[slot]!);
    cell[slot] = NONE;
    next[slot] = this.#free;
    this.#free = slot;
    this.#size--;
  }

  /** Gives an entry the subscription that tells when its owner, known by a hash, changes. */
  subscribe(slot: number, subscription: number, owner: number): void {
    if (this.#ownerBuckets.length < this.#capacity) this.#rehashOwners();
    this.columns.subscription[slot] = subscription;
    this.columns.owner[slot] = owner;
    this.#linkOwner(slot);
    this.#subscribed[subscription]!++;
  }

  /** How many entries have a subscription. */
  subscribed(subscription: number): number {
    return this.#subscribed[subscription]!;
  }

  /** The first entry whose owner has this hash, after `slot` or of all; NONE when there is none. */
  nextOfOwner(owner: number, slot = NONE): number {
    if (this.#ownerBuckets.length === 0) return NONE;
    const { owner: owners, nextOfOwner } = this.columns;
    let at =
      slot === NONE ? this.#ownerBuckets[bucketOf(owner, this.#ownerBuckets)]! : nextOfOwner[slot]!;
    while (at !== NONE && owners[at] !== owner) at = nextOfOwner[at]!;
    return at;
  }

  clear(): void {
    this.#buckets.fill(NONE);
    this.#ownerBuckets.fill(NONE);
    this.#subscribed.fill(0);
    this.columns.cell.fill(NONE);
    this.#cells.clear();
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

  /** Copies an entry's name into `out` and returns its length. */
  copyName(slot: number, out: Uint8Array, at: number): number {
    const { cell, nameBytes } = this.columns;
    const length = nameBytes[slot]!;
    this.#cells.copyTo(cell[slot]!, 0, length, out, at);
    return length;
  }

  /** Copies an entry's records into `out`. */
  copyRecords(slot: number, out: Uint8Array, at: number): void {
    const { cell, nameBytes, recordBytes } = this.columns;
    this.#cells.copyTo(cell[slot]!, nameBytes[slot]!, recordBytes[slot]!, out, at);
  }

  /** A copy of an entry's reasons. */
  copyReasons(slot: number): Uint8Array {
    const { cell, nameBytes, recordBytes, reasonBytes } = this.columns;
    const reasons = new Uint8Array(reasonBytes[slot]!);
    const from = nameBytes[slot]! + recordBytes[slot]!;
    this.#cells.copyTo(cell[slot]!, from, reasons.length, reasons, 0);
    return reasons;
  }

  #putBytes({ name, nameLength, bytes, length, reasons }: CacheableAnswer): number {
    scratch.set(name.subarray(0, nameLength));
    scratch.set(bytes.subarray(0, length), nameLength);
    scratch.set(reasons, nameLength + length);
    return this.#cells.put(scratch, nameLength + length + reasons.length);
  }

  #takeSlot(): number {
    if (this.#free === NONE) this.#grow();
    const slot = this.#free;
    this.#free = this.columns.next[slot]!;
    this.#size++;
    return slot;
  }

  #append(slot: number): void {
    const { older, newer } = this.columns;
    older[slot] = this.#newest;
    newer[slot] = NONE;
    if (this.#newest !== NONE) newer[this.#newest] = slot;
    else this.oldest = slot;
    this.#newest = slot;
  }

  #unlink(slot: number): void {
    const { older, newer } = this.columns;
    const before = older[slot]!;
    const after = newer[slot]!;
    if (before !== NONE) newer[before] = after;
    else this.oldest = after;
    if (after !== NONE) older[after] = before;
    else this.#newest = before;
  }

  #linkBucket(slot: number): void {
    const { hash, next } = this.columns;
    const bucket = bucketOf(hash[slot]!, this.#buckets);
    next[slot] = this.#buckets[bucket]!;
    this.#buckets[bucket] = slot;
  }

  #linkOwner(slot: number): void {
    const { owner, nextOfOwner } = this.columns;
    const bucket = bucketOf(owner[slot]!, this.#ownerBuckets);
    nextOfOwner[slot] = this.#ownerBuckets[bucket]!;
    this.#ownerBuckets[bucket] = slot;
  }

  #rehashOwners(): void {
    this.#ownerBuckets = new Int32Array(this.#capacity).fill(NONE);
    for (let slot = 0; slot < this.#capacity; slot++) {
      if (this.isUsed(slot) && this.columns.subscription[slot] !== 0) this.#linkOwner(slot);
    }
  }

  #grow(): void {
    const before = this.#capacity;
    this.#capacity = before === 0 ? FIRST_SLOTS : before * 2;
    this.columns = createColumns(this.#capacity, this.columns);
    this.#freeFrom(before);
    this.#rehash();
  }

  #freeFrom(first: number): void {
    const { next } = this.columns;
    for (let slot = this.#capacity - 1; slot >= first; slot--) {
      next[slot] = this.#free;
      this.#free = slot;
    }
  }

  #rehash(): void {
    this.#buckets = new Int32Array(this.#capacity).fill(NONE);
    for (let slot = 0; slot < this.#capacity; slot++) {
      if (this.isUsed(slot)) this.#linkBucket(slot);
    }
  }
}

function bucketOf(hash: number, buckets: Int32Array): number {
  return hash & (buckets.length - 1);
}

/** Takes a slot out of the list of its bucket. */
function unchain(buckets: Int32Array, next: Int32Array, hashes: Int32Array, slot: number): void {
  const bucket = bucketOf(hashes[slot]!, buckets);
  let before = NONE;
  for (let at = buckets[bucket]!; at !== slot; at = next[at]!) before = at;
  if (before === NONE) buckets[bucket] = next[slot]!;
  else next[before] = next[slot]!;
}
