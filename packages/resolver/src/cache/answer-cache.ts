import { type ChangeSource, neverSeen } from '@kube-dns/push';
import { nowMs } from '@kube-dns/transport';
import { hashBytes, type Query, randomSeed, TYPE } from '@kube-dns/wire';
import type { AnswerCacheOptions } from './answer-cache-options.js';
import { DomainDrop } from './domain-drop.js';
import { EntryLifetimes } from './entry-lifetimes.js';
import { EntryTable } from './entry-table.js';
import { EntryWriter } from './entry-writer.js';
import { EVERY_TYPE, type CacheableAnswer } from './cacheable-answer.js';
import { CachedEntries } from './cached-entries.js';
import { ExpiredEntries } from './expired-entries.js';
import { LastAnswer } from './last-answer.js';
import { KeptEntries } from './kept-entries.js';
import { NONE } from '../none.js';
import { isAboveServices } from './owner-of-name.js';
import { questionHash } from './question-hash.js';

/** Names and records may be long: the cache uses at most this many bytes per record of its size. */
const MAX_BYTES_PER_RECORD = 512;
/** Minimum of bytes, so that a small cache can hold one long answer. */
const MIN_BYTES = 128 * 1024;
/** Types that are cached unless an option says otherwise. */
const TYPES_OF_NAMES = [TYPE.A, TYPE.AAAA, TYPE.SRV, TYPE.PTR];

/**
 * Answers by question, in cells of bytes and columns of numbers. An answer is removed as a whole when its
 * smallest TTL has passed, or when it is the least recently used one and space is needed. A look-up
 * creates no object.
 */
export class AnswerCache {
  /** Records stored, and unexpired answers removed for lack of space, counted as in dnsmasq. */
  insertions = 0;
  evictions = 0;
  /** What is known of the last answer. */
  readonly last: LastAnswer;
  /** To look at what is cached. */
  readonly entries: CachedEntries;
  /** Maximum of cached records. */
  readonly maxRecords: number;
  readonly #maxBytes: number;
  readonly #kept: KeptEntries;
  readonly #now: () => number;
  readonly #seed = randomSeed();
  readonly #table = new EntryTable();
  readonly #writer: EntryWriter;
  readonly #lifetimes: EntryLifetimes;
  readonly #expiredEntries: ExpiredEntries;
  readonly #drop = new DomainDrop(this.#table, (slot) => this.#remove(slot));
  #records = 0;
  #serial = 0;
  #nxdomains = 0;
  #denials = 0;
  readonly #countsAnswers: boolean;

  constructor(options: AnswerCacheOptions) {
    const { maxRecords, maxTtlSeconds = 0, maxStaleSeconds = 0, rotatesRecords = true } = options;
    this.maxRecords = maxRecords;
    this.#maxBytes = Math.max(maxRecords * MAX_BYTES_PER_RECORD, MIN_BYTES);
    const { staleTtlSeconds = 0, countsHits = false, countsAnswers = false } = options;
    const { heardAt = neverSeen(), lastHeardAt = heardAt, keepsTtls = false } = options;
    this.#countsAnswers = countsAnswers;
    this.#kept = new KeptEntries(this.#table, heardAt, lastHeardAt, (slot) => this.#remove(slot));
    this.#lifetimes = new EntryLifetimes(this.#table, this.#kept, maxStaleSeconds);
    const staleTtl = maxTtlSeconds > 0 ? Math.min(staleTtlSeconds, maxTtlSeconds) : staleTtlSeconds;
    this.last = new LastAnswer(this.#table, this.#lifetimes, staleTtl, countsHits);
    this.#expiredEntries = new ExpiredEntries({
      table: this.#table,
      lifetimes: this.#lifetimes,
      maxRecords,
      maxBytes: this.#maxBytes,
      remove: (slot) => this.#remove(slot),
    });
    this.#writer = new EntryWriter(this.#table, { maxTtlSeconds, rotatesRecords, keepsTtls });
    this.#now = options.nowSeconds ?? (() => nowMs() / 1000);
    this.entries = new CachedEntries({
      table: this.#table,
      lifetimes: this.#lifetimes,
      drop: this.#drop,
      writer: this.#writer,
      seed: this.#seed,
      countsHits,
      now: this.#now,
    });
  }

  /** How many seconds are left of the last answer's lifetime. */
  get lastSecondsLeft(): number {
    return this.last.secondsLeft(this.#now());
  }

  /** The records stored now. */
  get recordCount(): number {
    return this.#records;
  }

  /** The answers stored now, and those of them that have no records of the requested type. */
  get entryCount(): number {
    return this.#table.size;
  }
  get denialCount(): number {
    return this.#denials;
  }

  /** The answers that a subscription keeps while it lives. */
  keptAnswers(subscription: number): number {
    return this.#table.subscribed(subscription);
  }

  /** Bytes of names and records now, and their maximum. */
  get usedBytes(): number {
    return this.#table.usedBytes;
  }
  get peakBytes(): number {
    return this.#table.peakBytes;
  }

  /** Bytes of allocated memory. */
  get takenBytes(): number {
    return this.#table.takenBytes;
  }

  /**
   * Writes the answer to a question of class IN into `out` and returns its length; 0 when there is none.
   * `last` says then when it must be refreshed.
   */
  answer(query: Query, out: Uint8Array): number {
    const table = this.#table;
    if (table.size === 0) return 0;
    const nameHash = hashBytes(this.#seed, query.name, 0, query.nameLength);
    const now = this.#now();
    let slot = this.#find(query.name, query.nameLength, nameHash, query.type, now);
    if (this.#nxdomains > 0 && (slot === NONE || this.#lifetimes.isExpired(slot, now))) {
      // It is newer than what has expired: see store.
      const nxdomain = this.#find(query.name, query.nameLength, nameHash, EVERY_TYPE, now);
      // The CNAME before it exists, whatever its target.
      const isDenied =
        nxdomain !== NONE && (query.type !== TYPE.CNAME || table.columns.cnames[nxdomain] === 0);
      if (isDenied) slot = nxdomain;
    }
    if (slot === NONE) return 0;
    table.touch(slot);
    const staleTtl = this.last.note(slot, now);
    return this.#writer.write(slot, query, out, staleTtl, now);
  }

  /** Expired answers for a name, for this type or every one, were asked for in vain: see the columns. */
  noteTried(name: Uint8Array, length: number, type: number, atMs: number): void {
    const { triedAtMs } = this.#table.columns;
    for (const slot of this.#expired(name, length, type)) triedAtMs[slot] = atMs;
  }

  /** Removes these expired answers: a newer one is known, and not cached. */
  dropExpired(name: Uint8Array, length: number, type: number): void {
    for (const slot of this.#expired(name, length, type)) this.#remove(slot);
  }

  /** Whether an answer for the question's name and this type is cached. */
  has(query: Query, type: number): boolean {
    const nameHash = hashBytes(this.#seed, query.name, 0, query.nameLength);
    return this.#find(query.name, query.nameLength, nameHash, type, this.#now()) !== NONE;
  }

  /** Whether an answer that has not expired shows that a name (lower-cased, in wire form) exists. */
  hasName(name: Uint8Array, length: number): boolean {
    if (this.#table.size === 0) return false;
    const nameHash = hashBytes(this.#seed, name, 0, length);
    const now = this.#now();
    for (const type of TYPES_OF_NAMES) {
      const slot = this.#find(name, length, nameHash, type, now);
      if (slot !== NONE && !this.#lifetimes.isExpired(slot, now)) return true;
    }
    return false;
  }

  /** Whether a question with this name and type gets an answer that has not expired. */
  isLive({ name, nameLength, type }: CacheableAnswer): boolean {
    const now = this.#now();
    const isFresh = (slot: number) => !this.#lifetimes.isExpired(slot, now);
    return this.#slots(name, nameLength, type, now).some(isFresh);
  }

  /**
   * Stores an answer, and each target of its CNAMEs that `isStored` allows also under its own name; false for one with
   * more records than the cache holds, NXDOMAIN of a target that has cached records, and one that a teller said had
   * changed after `serial`. Until a teller says so, it does not expire. The answer is consumed.
   */
  store(
    answer: CacheableAnswer,
    isStored: (target: CacheableAnswer) => boolean,
    teller?: ChangeSource,
    serial = 0,
  ): boolean {
    const { type, cnames, target, targetLength } = answer;
    if (!this.#countsAnswers && answer.totalWeight > this.maxRecords) return false;
    if (answer.cnames > 0 && this.#drop.mayBeLate(answer, this.#now())) return false;
    if (type === EVERY_TYPE && cnames > 0 && this.hasName(target, targetLength)) return false;
    const isNew = this.#store(answer, teller, serial);
    while (answer.followCname()) if (isStored(answer)) this.#store(answer, teller, serial);
    return isNew;
  }

  #store(answer: CacheableAnswer, teller: ChangeSource | undefined, serial: number): boolean {
    const now = this.#now();
    const { name, nameLength, type } = answer;
    const weight = this.#countsAnswers ? 1 : answer.weight;
    if (teller !== undefined && !this.#kept.isCurrent(answer, teller, serial)) return false;
    const nameHash = hashBytes(this.#seed, name, 0, nameLength);
    this.#removeKey(name, nameLength, nameHash, type);
    // The name exists. The other way round, NXDOMAIN does not end answers of the name: servers in front of
    // load balancers deny a name that they were asked about for AAAA.
    if (type !== EVERY_TYPE && this.#nxdomains > 0) {
      this.#removeKey(name, nameLength, nameHash, EVERY_TYPE);
    }
    this.#makeRoom(weight, EntryTable.bytesOf(answer), now);
    const slot = this.#table.add(answer, questionHash(nameHash, type), ++this.#serial, now);
    this.#table.columns.weight[slot] = weight;
    if (teller !== undefined) this.#kept.add(slot, answer, teller);
    if (type === EVERY_TYPE) this.#nxdomains++;
    if (answer.setSize === 0) this.#denials++;
    this.#records += weight;
    this.insertions += answer.insertions;
    return true;
  }

  /**
   * Drops the answers of a domain (lower-cased, in wire form) and all names below it: no such answer
   * is served from now on, and the entries are removed in bounded slices of work.
   */
  dropBelow(domain: Uint8Array): void {
    if (this.#table.size === 0) return;
    this.#drop.add(domain, this.#serial);
  }

  /**
   * Drops the kept answers that a change of a name (lower-cased, in wire form) with this serial may change. Returns
   * their number, without those that go as in `dropNotified`, in a zone: below the name of a namespace.
   */
  dropChanged(name: Uint8Array, teller: ChangeSource, serial: number, zone = teller.apex): number {
    if (isAboveServices(name, teller.apex)) this.dropNotified(name, zone);
    return this.#kept.change(name, teller, serial);
  }

  /** Drops, as `dropBelow` does, the answers that a change of a name in a zone may change, kept or not. */
  dropNotified(name: Uint8Array, zone: Uint8Array): void {
    this.#drop.addChanged(name, zone, this.#serial, this.#now());
  }

  /** Empties the cache; its counters start again, as dnsmasq's do on SIGHUP. */
  clear(): void {
    this.#drop.stop();
    this.#table.clear();
    this.#records = this.#nxdomains = this.#denials = this.insertions = this.evictions = 0;
  }

  /** Ends work in progress; the cache stays usable. */
  close(): void {
    this.#drop.stop();
  }

  #find(name: Uint8Array, length: number, nameHash: number, type: number, now: number): number {
    const slot = this.#table.find(name, length, questionHash(nameHash, type), type);
    if (slot === NONE) return NONE;
    if (!this.#drop.includes(slot, name, length) && !this.#lifetimes.isGone(slot, now)) return slot;
    this.#remove(slot);
    return NONE;
  }

  /** The entries of a name for a type and for every one. */
  #slots(name: Uint8Array, length: number, type: number, now: number): number[] {
    const nameHash = hashBytes(this.#seed, name, 0, length);
    const slots = [type, EVERY_TYPE].map((each) => this.#find(name, length, nameHash, each, now));
    return slots.filter((slot) => slot !== NONE);
  }

  #expired(name: Uint8Array, length: number, type: number): number[] {
    const now = this.#now();
    const isExpired = (slot: number) => this.#lifetimes.isExpired(slot, now);
    return this.#slots(name, length, type, now).filter(isExpired);
  }

  #removeKey(name: Uint8Array, length: number, nameHash: number, type: number): void {
    const slot = this.#table.find(name, length, questionHash(nameHash, type), type);
    if (slot !== NONE) this.#remove(slot);
  }

  #remove(slot: number): void {
    const { type, weight, setSize } = this.#table.columns;
    if (type[slot] === EVERY_TYPE) this.#nxdomains--;
    if (setSize[slot] === 0) this.#denials--;
    this.#records -= weight[slot]!;
    this.#table.remove(slot);
  }

  /** Removes expired answers first, and then, as evictions, the least recently used. */
  #makeRoom(weight: number, bytes: number, now: number): void {
    if (!this.#isFull(weight, bytes)) return;
    this.#expiredEntries.sweep(now);
    while (this.#isFull(weight, bytes)) {
      const slot = this.#table.oldest;
      if (!this.#lifetimes.isGone(slot, now)) this.evictions++;
      this.#remove(slot);
    }
  }

  #isFull(weight: number, bytes: number): boolean {
    return this.#records + weight > this.maxRecords || this.usedBytes + bytes > this.#maxBytes;
  }
}
