import { WITH_TTL } from '@kube-dns/push';
import { finishHash, FLAG, hashByte, hashBytes, randomSeed } from '@kube-dns/wire';
import { type CacheableAnswer, EVERY_TYPE } from './cacheable-answer.js';
import { TimedCount } from './timed-count.js';

/** No slot or cell: the end of a list of numbers. */
export const NONE = -1;

/**
 * What is stored of an entry next to its bytes, and in how many bits: a column of numbers per field, with
 * the entry's slot as the index.
 */
const KINDS = {
  /** The hash of the name with the type. */
  hash: Int32Array,
  /** The first cell of the name, and the records and the server's reasons after it; NONE in a free slot. */
  cell: Int32Array,
  nameBytes: Uint8Array,
  recordBytes: Uint16Array,
  /** Of the Extended DNS Errors after the records. */
  reasonBytes: Uint8Array,
  /** EVERY_TYPE where the name does not exist. */
  type: Uint16Array,
  /** AA and the rcode, as in a header. */
  flags: Uint16Array,
  /** The numbers of records: CNAMEs, the requested set, and the SOA of a negative answer (0 or 1). */
  cnames: Uint8Array,
  setSize: Uint16Array,
  authorities: Uint8Array,
  /** By how many records the next answer rotates the set. */
  turn: Uint16Array,
  /** How much it counts towards the cache's size. */
  weight: Uint16Array,
  /** The number of its insertion, from 1. */
  serial: Float64Array,
  /** Seconds by the cache's clock. */
  storedAt: Float64Array,
  expiresAt: Float64Array,
  /** How often it was asked for, up to a limit; PREFETCHED when a newer one was asked for. */
  hits: Uint8Array,
  /** Whether it is of the cluster, where an address soon has another owner. */
  isOfCluster: Uint8Array,
  /** Whether it is of a snapshot: it was stored before this process began. */
  isRestored: Uint8Array,
  /**
   * When it was asked for in vain after its end, in milliseconds by the forwarder's clock; 0 is never, and negative
   * when no server replied to anything.
   */
  triedAtMs: Float64Array,
  /** The next entry of the same hash bucket, or the next free slot. */
  next: Int32Array,
  /** The subscription that announces its changes; 0 is none. */
  subscription: Uint8Array,
  /** Of those with a subscription: the hash of the name whose changes invalidate it, and the next of the same bucket. */
  key: Int32Array,
  nextOfKey: Int32Array,
  /** The number of the server in whose zones its name is; 0 is none. */
  server: Uint8Array,
  /** The entries that were used before and after it. */
  older: Int32Array,
  newer: Int32Array,
} as const;

type Field = keyof typeof KINDS;

type Columns = { readonly [F in Field]: InstanceType<(typeof KINDS)[F]> };

const BYTES_PER_ENTRY = Object.values(KINDS).reduce(
  (sum, { BYTES_PER_ELEMENT }) => sum + BYTES_PER_ELEMENT,
  0,
);

/** The hits of an entry for which a newer one was asked. */
export const PREFETCHED = 255;
/** The most hits that are counted of others. */
export const MAX_HITS = 254;

/**
 * So many slots at first, or as many as the cache may have records: what is not used of them takes no memory, and columns that
 * double leave the smaller ones as garbage.
 */
const MIN_FIRST_SLOTS = 256;
const MAX_FIRST_SLOTS = 16_384;
/** How long an entry is pinned at most while its server announces changes. */
export const MAX_PINNED_SECONDS = 3_600;

/** A name, then its records, before they are copied into the cells; of any cache. */
const scratch = new Uint8Array(0x1_0100);

/**
 * The entries of the cache: their fields in columns, their names and records in cells, and three lists
 * through them: the entries of one hash bucket, all entries from the least to the most recently used, and
 * the free slots. An entry is identified by its slot.
 */
export class EntryStore {
  /** Replaced when the store grows. */
  columns: Columns = createColumns(0);
  /** The least recently used entry; NONE when there is none. */
  oldest = NONE;
  /** The entries, those of them that say NXDOMAIN, those without records of the type, and those of a snapshot. */
  size = 0;
  nxdomains = 0;
  denials = 0;
  restored = 0;
  /** The sum of their weights. */
  records = 0;
  /** That of the entry that was stored last. */
  lastSerial = 0;
  /** Slots are below this number; which of them are in use `isUsed` says. */
  capacity = 0;
  /** The most recently used entry; NONE when there is none. */
  newest = NONE;
  readonly #firstSlots: number;
  #free = NONE;
  #buckets = createBuckets(1);
  /** The same of the entries with a subscription, by their keys; empty until there is one. */
  #keyBuckets = new Int32Array(0);
  /** Entries that have not expired: those that each subscription pins, by its number, and those of each server's zones. */
  readonly #pinned: (TimedCount | undefined)[] = [];
  readonly #ofServer: (TimedCount | undefined)[] = [];
  readonly #cells = new CellStore();
  readonly #seed = randomSeed();

  constructor(maxRecords: number) {
    this.#firstSlots = Math.max(MIN_FIRST_SLOTS, Math.min(maxRecords, MAX_FIRST_SLOTS));
  }

  /** Bytes of names and records now, and their maximum. */
  get usedBytes(): number {
    return this.#cells.used * CELL_BYTES;
  }
  get peakBytes(): number {
    return this.#cells.peak * CELL_BYTES;
  }

  /** Bytes of allocated memory. */
  get takenBytes(): number {
    const bucketBytes = this.#buckets.byteLength + this.#keyBuckets.byteLength;
    return bucketBytes + this.capacity * BYTES_PER_ENTRY + this.#cells.allocatedBytes;
  }

  /** The bytes that an answer's name and records would use. */
  static bytesOf({ nameLength, length, reasons }: CacheableAnswer): number {
    return wholeCells(nameLength + length + reasons.length);
  }

  /** The bytes that an entry's name and records use. */
  bytesAt(slot: number): number {
    const { nameBytes, recordBytes, reasonBytes } = this.columns;
    return wholeCells(nameBytes[slot]! + recordBytes[slot]! + reasonBytes[slot]!);
  }

  isUsed(slot: number): boolean {
    return this.columns.cell[slot] !== NONE;
  }

  /** The hash of a part of a name (lower-cased, in wire form); that of a whole name is for `find` and `add`. */
  hashOf(name: Uint8Array, start: number, end: number): number {
    return hashBytes(this.#seed, name, start, end);
  }

  /** The entry of a name, whose hash this is, and a type; NONE when there is none. */
  find(name: Uint8Array, length: number, nameHash: number, type: number): number {
    const { hash: hashes, type: types, nameBytes, cell, next } = this.columns;
    const hash = questionHash(nameHash, type);
    let slot = this.#buckets[bucketOf(hash, this.#buckets)]!;
    for (; slot !== NONE; slot = next[slot]!) {
      const isLike = hashes[slot] === hash && types[slot] === type && nameBytes[slot] === length;
      if (isLike && this.#cells.startsWith(cell[slot]!, name, length)) break;
    }
    return slot;
  }

  /** Makes the newest entry, which counts as much as `weight`, and returns its slot. */
  add(answer: CacheableAnswer, nameHash: number, weight: number, now: number): number {
    if (this.#free === NONE) this.#grow();
    const slot = this.#free;
    const { columns } = this;
    this.#free = columns.next[slot]!;
    columns.hash[slot] = questionHash(nameHash, answer.type);
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
    columns.weight[slot] = weight;
    columns.serial[slot] = ++this.lastSerial;
    columns.subscription[slot] = columns.server[slot] = 0;
    columns.hits[slot] = 0;
    columns.isOfCluster[slot] = Number(answer.isOfCluster);
    columns.isRestored[slot] = 0;
    columns.triedAtMs[slot] = 0;
    columns.storedAt[slot] = now;
    // A TTL of 0, which only a cache that serves stale answers stores, is good for the moment.
    columns.expiresAt[slot] = now + Math.max(answer.lifetimeSeconds, 1);
    chain(this.#buckets, columns.next, columns.hash, slot);
    this.#append(slot);
    this.#count(slot, 1);
    return slot;
  }

  /** The same for one of a snapshot, which was stored and has expired at these times. */
  addRestored(
    answer: CacheableAnswer,
    nameHash: number,
    weight: number,
    { storedAt, expiresAt }: { readonly storedAt: number; readonly expiresAt: number },
  ): number {
    const slot = this.add(answer, nameHash, weight, storedAt);
    this.columns.expiresAt[slot] = expiresAt;
    this.columns.isRestored[slot] = 1;
    this.restored++;
    return slot;
  }

  remove(slot: number): void {
    const { hash, cell, next, subscription, key, nextOfKey, server } = this.columns;
    unchain(this.#buckets, next, hash, slot);
    if (subscription[slot] !== 0) unchain(this.#keyBuckets, nextOfKey, key, slot);
    if (server[slot] !== 0) {
      const end = this.#countedUntil(slot);
      this.#ofServer[server[slot]!]!.remove(end);
      if (this.#isPinned(slot)) this.#pinned[subscription[slot]!]!.remove(end);
    }
    this.#unlink(slot);
    this.#count(slot, -1);
    this.#cells.release(cell[slot]!);
    cell[slot] = NONE;
    next[slot] = this.#free;
    this.#free = slot;
  }

  /** Gives an entry the subscription that announces when the name whose hash is `key` changes. */
  subscribe(slot: number, subscription: number, key: number): void {
    const { columns } = this;
    if (this.#keyBuckets.length < this.capacity) this.#rehashKeys();
    columns.subscription[slot] = subscription;
    columns.key[slot] = key;
    chain(this.#keyBuckets, columns.nextOfKey, columns.key, slot);
  }

  /** Counts an entry, which has its subscription if there is one, among those of the zones of a server. */
  countFor(slot: number, server: number, now: number): void {
    const { columns } = this;
    columns.server[slot] = server;
    const end = this.#countedUntil(slot);
    (this.#ofServer[server] ??= new TimedCount()).add(end, now);
    if (!this.#isPinned(slot)) return;
    (this.#pinned[columns.subscription[slot]!] ??= new TimedCount()).add(end, now);
  }

  /** Those of them that have not expired, and that a subscription pins, were it live. */
  pinnedBy(subscription: number, now: number): number {
    return this.#pinned[subscription]?.at(now) ?? 0;
  }

  /** Those of a server that have not expired. */
  countOf(server: number, now: number): number {
    return this.#ofServer[server]?.at(now) ?? 0;
  }

  /** The first entry with a key, after `slot` or of all; NONE when there is none. */
  nextOfKey(key: number, slot = NONE): number {
    if (this.#keyBuckets.length === 0) return NONE;
    const { key: keys, nextOfKey } = this.columns;
    let at = slot === NONE ? this.#keyBuckets[bucketOf(key, this.#keyBuckets)]! : nextOfKey[slot]!;
    while (at !== NONE && keys[at] !== key) at = nextOfKey[at]!;
    return at;
  }

  clear(): void {
    this.#buckets.fill(NONE);
    this.#keyBuckets.fill(NONE);
    for (const count of this.#pinned) count?.clear();
    for (const count of this.#ofServer) count?.clear();
    this.columns.cell.fill(NONE);
    this.#cells.clear();
    this.size = this.nxdomains = this.denials = this.restored = this.records = 0;
    this.newest = this.oldest = this.#free = NONE;
    this.#freeFrom(0);
  }

  /** Makes an entry the most recently used one. */
  touch(slot: number): void {
    if (this.newest === slot) return;
    this.#unlink(slot);
    this.#append(slot);
  }

  /** Copies an entry's name into `out` and returns its length. */
  copyName(slot: number, out: Uint8Array, at = 0): number {
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

  #isPinned(slot: number): boolean {
    const subscription = this.columns.subscription[slot]!;
    return subscription !== 0 && subscription < WITH_TTL;
  }

  /** When an entry expires while its subscription lives: a long TTL counts as no more than being pinned does. */
  #countedUntil(slot: number): number {
    const { storedAt, expiresAt } = this.columns;
    const longest = storedAt[slot]! + MAX_PINNED_SECONDS;
    return this.#isPinned(slot) ? longest : Math.min(expiresAt[slot]!, longest);
  }

  /** Counts an entry in the totals, or out of them. */
  #count(slot: number, by: 1 | -1): void {
    const { type, setSize, weight, isRestored } = this.columns;
    this.size += by;
    this.records += by * weight[slot]!;
    if (type[slot] === EVERY_TYPE) this.nxdomains += by;
    if (setSize[slot] === 0) this.denials += by;
    if (isRestored[slot] === 1) this.restored += by;
  }

  #putBytes({ name, nameLength, bytes, length, reasons }: CacheableAnswer): number {
    scratch.set(name.subarray(0, nameLength));
    scratch.set(bytes.subarray(0, length), nameLength);
    scratch.set(reasons, nameLength + length);
    return this.#cells.put(scratch, nameLength + length + reasons.length);
  }

  #append(slot: number): void {
    const { older, newer } = this.columns;
    older[slot] = this.newest;
    newer[slot] = NONE;
    if (this.newest !== NONE) newer[this.newest] = slot;
    else this.oldest = slot;
    this.newest = slot;
  }

  #unlink(slot: number): void {
    const { older, newer } = this.columns;
    const before = older[slot]!;
    const after = newer[slot]!;
    if (before !== NONE) newer[before] = after;
    else this.oldest = after;
    if (after !== NONE) older[after] = before;
    else this.newest = before;
  }

  #grow(): void {
    const before = this.capacity;
    this.capacity = before === 0 ? this.#firstSlots : before * 2;
    this.columns = createColumns(this.capacity, this.columns);
    const { next, hash } = this.columns;
    this.#buckets = createBuckets(this.capacity);
    // All slots are in use: the store grows when none is free.
    for (let slot = 0; slot < before; slot++) chain(this.#buckets, next, hash, slot);
    this.#freeFrom(before);
  }

  #freeFrom(first: number): void {
    const { next } = this.columns;
    for (let slot = this.capacity - 1; slot >= first; slot--) {
      next[slot] = this.#free;
      this.#free = slot;
    }
  }

  #rehashKeys(): void {
    const { subscription, nextOfKey, key } = this.columns;
    this.#keyBuckets = createBuckets(this.capacity);
    for (let slot = 0; slot < this.capacity; slot++) {
      if (this.isUsed(slot) && subscription[slot] !== 0) {
        chain(this.#keyBuckets, nextOfKey, key, slot);
      }
    }
  }
}

/** Columns for this many entries, with the contents of columns of at most that size; the new slots are free. */
function createColumns(capacity: number, others?: Columns): Columns {
  const columns = Object.entries(KINDS).map(([field, Kind]) => {
    const column = new Kind(capacity);
    if (others !== undefined) column.set(others[field as Field]);
    return [field, column];
  });
  // Each field of the table above has a column of its kind.
  const created = Object.fromEntries(columns) as Columns;
  created.cell.fill(NONE, others?.cell.length ?? 0);
  return created;
}

function questionHash(nameHash: number, type: number): number {
  return finishHash(hashByte(nameHash, type));
}

/** As many as slots, or up to twice: a power of two. */
function createBuckets(slots: number): Int32Array<ArrayBuffer> {
  return new Int32Array(2 ** Math.ceil(Math.log2(slots))).fill(NONE);
}

function bucketOf(hash: number, buckets: Int32Array): number {
  return hash & (buckets.length - 1);
}

/** Puts a slot into the list of its bucket. */
function chain(buckets: Int32Array, next: Int32Array, hashes: Int32Array, slot: number): void {
  const bucket = bucketOf(hashes[slot]!, buckets);
  next[slot] = buckets[bucket]!;
  buckets[bucket] = slot;
}

/** Takes a slot out of the list of its bucket. */
function unchain(buckets: Int32Array, next: Int32Array, hashes: Int32Array, slot: number): void {
  const bucket = bucketOf(hashes[slot]!, buckets);
  let before = NONE;
  for (let at = buckets[bucket]!; at !== slot; at = next[at]!) before = at;
  if (before === NONE) buckets[bucket] = next[slot]!;
  else next[before] = next[slot]!;
}

/** Most cached answers of a cluster, including the name, fit one cell or two. */
const CELL_BYTES = 64;
const CELL_SHIFT = 6;
/** How many cells are allocated together; an empty store allocates nothing. */
const CHUNK_CELLS = 1024;
const CHUNK_SHIFT = 10;

/** The bytes that a string of this length uses. */
function wholeCells(length: number): number {
  return Math.max(CELL_BYTES, (length + CELL_BYTES - 1) & -CELL_BYTES);
}

/**
 * Byte strings cut into cells of one size, so that storing and dropping them in any order leaves no
 * holes, and ten thousand of them are a few large buffers instead of ten thousand objects:
 *
 *     first cell ──next──▶ cell ──next──▶ cell ──▶ NONE
 *
 * A string is identified by its first cell; the caller stores its length.
 */
class CellStore {
  /** Cells in use, and their maximum. */
  used = 0;
  peak = 0;
  #chunks: Uint8Array[] = [];
  /** By cell: the next one in its string, or in the list of free cells. */
  #next: Int32Array[] = [];
  #free = NONE;

  /** `clear` releases them. */
  get allocatedBytes(): number {
    return this.#chunks.length * CHUNK_CELLS * (CELL_BYTES + Int32Array.BYTES_PER_ELEMENT);
  }

  /** Stores a copy of the first `length` bytes; returns the first cell. */
  put(bytes: Uint8Array, length: number): number {
    const first = this.#allocate();
    let cell = first;
    for (let at = 0; ;) {
      const chunk = this.#chunks[cell >>> CHUNK_SHIFT]!;
      const base = (cell & (CHUNK_CELLS - 1)) << CELL_SHIFT;
      const count = Math.min(CELL_BYTES, length - at);
      for (let i = 0; i < count; i++) chunk[base + i] = bytes[at + i]!;
      at += count;
      if (at >= length) return first;
      const following = this.#allocate();
      this.#setNext(cell, following);
      cell = following;
    }
  }

  /** Releases the cells of a string. */
  release(first: number): void {
    for (let cell = first; cell !== NONE;) {
      const following = this.#nextOf(cell);
      this.#setNext(cell, this.#free);
      this.#free = cell;
      this.used--;
      cell = following;
    }
  }

  /** Copies `count` bytes of a string, from its offset `from` on, into `out` at `at`. */
  copyTo(first: number, from: number, count: number, out: Uint8Array, at: number): void {
    let cell = first;
    for (; from >= CELL_BYTES; from -= CELL_BYTES) cell = this.#nextOf(cell);
    for (const end = at + count; at < end; cell = this.#nextOf(cell)) {
      const chunk = this.#chunks[cell >>> CHUNK_SHIFT]!;
      const base = (cell & (CHUNK_CELLS - 1)) << CELL_SHIFT;
      for (let i = from; i < CELL_BYTES && at < end; i++) out[at++] = chunk[base + i]!;
      from = 0;
    }
  }

  /** Whether a string starts with the first `length` bytes of these. */
  startsWith(first: number, bytes: Uint8Array, length: number): boolean {
    let cell = first;
    for (let at = 0; at < length; cell = this.#nextOf(cell)) {
      const chunk = this.#chunks[cell >>> CHUNK_SHIFT]!;
      const base = (cell & (CHUNK_CELLS - 1)) << CELL_SHIFT;
      for (let i = 0; i < CELL_BYTES && at < length; i++, at++) {
        if (chunk[base + i] !== bytes[at]) return false;
      }
    }
    return true;
  }

  clear(): void {
    this.#chunks = [];
    this.#next = [];
    this.#free = NONE;
    this.used = 0;
  }

  #allocate(): number {
    if (this.#free === NONE) this.#grow();
    const cell = this.#free;
    this.#free = this.#nextOf(cell);
    this.#setNext(cell, NONE);
    this.peak = Math.max(this.peak, ++this.used);
    return cell;
  }

  #grow(): void {
    const start = this.#chunks.length * CHUNK_CELLS;
    this.#chunks.push(new Uint8Array(CHUNK_CELLS * CELL_BYTES));
    const next = Int32Array.from({ length: CHUNK_CELLS }, (_, i) => start + i + 1);
    next[CHUNK_CELLS - 1] = NONE;
    this.#next.push(next);
    this.#free = start;
  }

  #nextOf(cell: number): number {
    return this.#next[cell >>> CHUNK_SHIFT]![cell & (CHUNK_CELLS - 1)]!;
  }

  #setNext(cell: number, following: number): void {
    this.#next[cell >>> CHUNK_SHIFT]![cell & (CHUNK_CELLS - 1)] = following;
  }
}
