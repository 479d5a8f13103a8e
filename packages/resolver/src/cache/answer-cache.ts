import { inTurns, TraceKind } from '@kube-dns/base';
import { type ChangeSource, type LastSeen, neverSeen, WITH_TTL } from '@kube-dns/push';
import { nowMs } from '@kube-dns/transport';
import {
  CLASS,
  finishHash,
  FLAG,
  MAX_NAME_BYTES,
  NO_EDNS_OPTIONS,
  type Query,
  QUESTION_FIXED_BYTES,
  QUESTION_OFFSET,
  RCODE_MASK,
  isInZone,
  suffixOffset,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';
import { EVERY_CHANGE, isAboveServices, keyOffset } from './change-keys.js';
import {
  type CacheableAnswer,
  EVERY_TYPE,
  setTtl,
  setTtls,
  skipRecords,
  ttlOf,
} from './cacheable-answer.js';
import { DomainDrop } from './domain-drop.js';
import { EntryStore, MAX_HITS, MAX_PINNED_SECONDS, NONE, PREFETCHED } from './entry-store.js';

/** The size of an AnswerCache, and its rules for TTLs. */
export interface AnswerCacheOptions {
  /** Maximum of cached records; 0 caches nothing. */
  readonly maxRecords: number;
  /** Ceiling on the TTLs that clients see, in seconds; 0 is none. */
  readonly maxTtlSeconds?: number;
  /** How long an expired answer is served, in seconds; 0, the default, is not at all. */
  readonly maxStaleSeconds?: number;
  /** The TTL of expired answers that are served, in seconds; 0, the default, as dnsmasq has it. */
  readonly staleTtlSeconds?: number;
  /** Whether each answer rotates its records by one; true unless given. */
  readonly rotatesRecords?: boolean;
  /** Whether clients get the TTLs that an answer was stored with, until it expires; not unless given. */
  readonly keepsTtls?: boolean;
  /** Whether hits are counted; not unless given. */
  readonly countsHits?: boolean;
  /** Whether an answer counts as one record, however many it has; not unless given. */
  readonly countsAnswers?: boolean;
  /** When the servers of subscriptions were last seen; none ever lived, unless given. */
  readonly lastSeen?: LastSeen;
  /** Whose zones the answers are of, to count them; none is counted unless given. */
  readonly zoneServers?: ZoneServerNumbers;
  /** A monotonic clock in seconds; the process's unless given. */
  readonly nowSeconds?: () => number;
}

/** Numbers of the servers that may announce changes, from 1 to 255. */
export interface ZoneServerNumbers {
  /**
   * The server of the subscription that has this number, else (0) the one in whose zones a name (lower-cased, in wire
   * form) is; 0 is none.
   */
  serverNumber(name: Uint8Array, length: number, subscription: number): number;
}

/** One answer, for a dump. */
export interface CachedAnswer {
  /** A response to the question; its type is EVERY_TYPE where the name does not exist. */
  readonly message: Uint8Array;
  readonly secondsLeft: number;
}

/** An answer that clients may get when it has expired, for a snapshot; times are in seconds. */
export interface SnapshotAnswer {
  /** As in a CachedAnswer. */
  readonly message: Uint8Array;
  /** Since it was stored. */
  readonly ageSeconds: number;
  /** Since it expired; negative where it has not: it does after so long, unless its server announces changes until then. */
  readonly expiredSeconds: number;
}

/** What is known of one cached answer; times are in seconds. */
export interface CachedEntry {
  readonly rcode: number;
  readonly isNxdomain: boolean;
  /** There are no records of the type: NXDOMAIN or NODATA. */
  readonly isNegative: boolean;
  readonly cnames: number;
  /** Records of the type. */
  readonly records: number;
  readonly ageSeconds: number;
  /** Its TTL when it was stored, and what is left of that, negative when it is over. */
  readonly lifetimeSeconds: number;
  readonly secondsLeft: number;
  /** `pinned`: pinned by a subscription, also past its TTL; `gone`: expired, and no client gets it any more. */
  readonly state: 'fresh' | 'pinned' | 'expired' | 'gone';
  /** Since when it has expired, and until when clients may get it, from now on; 0 unless it has expired. */
  readonly expiredSeconds: number;
  readonly staleSecondsLeft: number;
  /** How often it was asked for, up to MAX_HITS; undefined where that is not counted. */
  readonly hits: number | undefined;
  /** A newer one is on its way, before this one expires. */
  readonly isPrefetched: boolean;
  /** The forwarder's milliseconds when it was asked for in vain after its end; 0 is never. */
  readonly triedAtMs: number;
  /** The number of the subscription that announces its changes; 0 is none. */
  readonly subscription: number;
  /** It is of a snapshot: it was stored before this process began. */
  readonly isRestored: boolean;
}

/** A cache as a whole. */
export interface CacheFacts {
  /** The answers stored now, those of them without records of the requested type, and the records of all. */
  readonly entries: number;
  readonly negative: number;
  readonly records: number;
  readonly maxRecords: number;
  /** Of the answers, those of a snapshot. */
  readonly restored: number;
  /** Bytes of names and records, their maximum so far, and allocated memory. */
  readonly usedBytes: number;
  readonly peakBytes: number;
  readonly takenBytes: number;
  /** Since it was emptied last, and since it was made: see `insertions`. */
  readonly insertions: number;
  readonly evictions: number;
  readonly totalInsertions: number;
  readonly totalEvictions: number;
}

/** The entries of one zone. */
export interface EntryCounts {
  entries: number;
  records: number;
  negative: number;
  /** Those that have expired. */
  stale: number;
  /** Those that a subscription keeps. */
  pinned: number;
  /** Of those that are cached now, as far as hits are counted. */
  hits: number;
  bytes: number;
}

/** Names and records may be long: the cache uses at most this many bytes per record of its size. */
const MAX_BYTES_PER_RECORD = 512;
/** Minimum of bytes, so that a small cache can hold one long answer. */
const MIN_BYTES = 128 * 1024;
/** Types that are cached unless an option says otherwise. */
const TYPES_OF_NAMES = [TYPE.A, TYPE.AAAA, TYPE.SRV, TYPE.PTR];
/** How long an expired answer of the cluster stays at most. */
const MAX_STALE_CLUSTER_SECONDS = 60;
/** The key of entries that any change invalidates. */
const ANY_KEY = 0;
/** Entries that are checked for expiry in one step. */
const SWEPT_ENTRIES = 65_536;
/** How long entries are counted before queries get a turn, checked after this many. */
const TURN_MS = 5;
const ENTRIES_PER_CHECK = 256;

/** Records while they are rotated, in any cache. */
const scratch = new Uint8Array(0x1_0000);

/** The answer that a look-up found. There is one of a cache: valid until the next look-up, or a change of the cache. */
export class Hit {
  /** The bytes of the message; who changes the message says here how many it has then. */
  length = 0;
  /** It has expired; then for how long. */
  isStale = false;
  staleSeconds = 0;
  /** When an expired one was asked for in vain: see the columns. */
  triedAtMs = 0;
  /** An expired one says that there are no records. */
  isDenial = false;
  /** How often it was asked for since it came, if that is counted; 0 when a newer one was asked for, or it is no use. */
  hits = 0;
  /** The entry, and the time of the look-up: the cache's own. */
  slot = NONE;
  nowSeconds = 0;
  readonly #store: EntryStore;

  constructor(store: EntryStore) {
    this.#store = store;
  }

  /** The Extended DNS Errors that the server gave with it, as options. */
  get reasons(): Uint8Array {
    const isThere = this.#store.columns.reasonBytes[this.slot]! > 0;
    return isThere ? this.#store.copyReasons(this.slot) : NO_EDNS_OPTIONS;
  }

  /** The number of the subscription that announces its changes, WITH_TTL or UNVERSIONED more if it has its TTL, too; 0 for none. */
  get subscription(): number {
    return this.#store.columns.subscription[this.slot]!;
  }

  /** Its lifetime, and what is left of that, in seconds. */
  get lifetimeSeconds(): number {
    const { storedAt, expiresAt } = this.#store.columns;
    return expiresAt[this.slot]! - storedAt[this.slot]!;
  }
  get secondsLeft(): number {
    return this.#store.columns.expiresAt[this.slot]! - this.nowSeconds;
  }

  /** A newer one was asked for. */
  notePrefetched(): void {
    this.#store.columns.hits[this.slot] = PREFETCHED;
  }
}

/** The entry that the cache had when a question was looked up, as it was before; undefined without one. */
export const LOOKED_UP = new TraceKind<CachedEntry | undefined>();

/**
 * Answers by question, in cells of bytes and columns of numbers. An entry is fresh until its smallest TTL has passed,
 * or as long as its server announces its changes (it is pinned); expired, and perhaps served, for the time of the
 * options; and then gone. It is removed as a whole when it is gone, or when it is the least recently used one and
 * space is needed. A look-up creates no object.
 */
export class AnswerCache {
  /** Records stored, and unexpired answers removed for lack of space, counted as in dnsmasq. */
  insertions = 0;
  evictions = 0;
  /** The same of the time before it was emptied. */
  #insertionsBefore = 0;
  #evictionsBefore = 0;
  /** Maximum of cached records. */
  readonly maxRecords: number;
  readonly #maxBytes: number;
  readonly #maxTtlSeconds: number;
  readonly #maxStaleSeconds: number;
  readonly #staleTtlSeconds: number;
  readonly #rotatesRecords: boolean;
  readonly #keepsTtls: boolean;
  readonly #countsHits: boolean;
  readonly #countsAnswers: boolean;
  readonly #lastSeenAt: LastSeen;
  readonly #zoneServers: ZoneServerNumbers | undefined;
  readonly #now: () => number;
  readonly #store: EntryStore;
  readonly #hit: Hit;
  readonly #drop: DomainDrop;
  /** The name of an entry that is looked at. */
  readonly #name = new Uint8Array(MAX_NAME_BYTES);
  /** When expired entries were removed last, and the slot up to which. */
  #sweptAtSecond = -1;
  /** Answers of a snapshot are of use; else they are being removed. */
  #takesRestored = true;
  #sweptSlot = 0;

  constructor(options: AnswerCacheOptions) {
    const { maxRecords, maxTtlSeconds = 0, staleTtlSeconds = 0, lastSeen = neverSeen() } = options;
    this.maxRecords = maxRecords;
    this.#store = new EntryStore(maxRecords);
    this.#hit = new Hit(this.#store);
    this.#drop = new DomainDrop(this.#store);
    this.#maxBytes = Math.max(maxRecords * MAX_BYTES_PER_RECORD, MIN_BYTES);
    this.#maxTtlSeconds = maxTtlSeconds;
    this.#maxStaleSeconds = options.maxStaleSeconds ?? 0;
    this.#staleTtlSeconds =
      maxTtlSeconds > 0 ? Math.min(staleTtlSeconds, maxTtlSeconds) : staleTtlSeconds;
    this.#rotatesRecords = options.rotatesRecords ?? true;
    this.#keepsTtls = options.keepsTtls ?? false;
    this.#countsHits = options.countsHits ?? false;
    this.#countsAnswers = options.countsAnswers ?? false;
    this.#lastSeenAt = lastSeen;
    this.#zoneServers = options.zoneServers;
    this.#now = options.nowSeconds ?? (() => nowMs() / 1000);
  }

  /** The records stored now. */
  get recordCount(): number {
    return this.#store.records;
  }

  /** The answers stored now, and those of them that have no records of the requested type. */
  get entryCount(): number {
    return this.#store.size;
  }
  get denialCount(): number {
    return this.#store.denials;
  }

  /** The answers that a subscription pins while it lives. */
  pinnedAnswers(subscription: number): number {
    return this.#store.pinnedBy(subscription, this.#now());
  }

  /**
   * The answers of the zones of a server: its own, and those whose names are in its zones. Counted are those whose TTL
   * has not ended, and as long as they are pinned those with a subscription: for an hour at most.
   */
  zoneAnswers(server: number): number {
    return this.#store.countOf(server, this.#now());
  }

  /** Bytes of names and records. */
  get usedBytes(): number {
    return this.#store.usedBytes;
  }

  /** Bytes of allocated memory. */
  get takenBytes(): number {
    return this.#store.takenBytes;
  }

  /** What it has now, and what it has counted. */
  describe(): CacheFacts {
    const { insertions, evictions } = this;
    return {
      entries: this.entryCount,
      negative: this.denialCount,
      records: this.recordCount,
      maxRecords: this.maxRecords,
      restored: this.#takesRestored ? this.#store.restored : 0,
      usedBytes: this.usedBytes,
      peakBytes: this.#store.peakBytes,
      takenBytes: this.takenBytes,
      insertions,
      evictions,
      totalInsertions: this.#insertionsBefore + insertions,
      totalEvictions: this.#evictionsBefore + evictions,
    };
  }

  /** Writes the answer to a question of class IN into `out`; undefined when there is none, or it does not fit. */
  lookup(query: Query, out: Uint8Array): Hit | undefined {
    const store = this.#store;
    const { name, nameLength, type } = query;
    query.trace?.note(LOOKED_UP, this.inspect(name, nameLength, type));
    if (store.size === 0) return undefined;
    const nameHash = store.hashOf(name, 0, nameLength);
    const now = this.#now();
    let slot = this.#find(name, nameLength, nameHash, type, now);
    if (store.nxdomains > 0 && (slot === NONE || this.#isExpired(slot, now))) {
      // It is newer than what has expired: see store.
      const nxdomain = this.#find(name, nameLength, nameHash, EVERY_TYPE, now);
      if (nxdomain !== NONE && this.#denies(nxdomain, type)) slot = nxdomain;
    }
    if (slot === NONE) return undefined;
    const isStale = this.#isExpired(slot, now);
    if (isStale && !this.#mayBeStale(slot)) return undefined;
    store.touch(slot);
    const hit = this.#hit;
    hit.slot = slot;
    hit.nowSeconds = now;
    hit.isStale = isStale;
    if (hit.isStale) this.#noteStale(hit, slot, now);
    else if (this.#countsHits) hit.hits = this.#countHit(slot);
    hit.length = this.#write(hit, query, out);
    return hit.length === 0 ? undefined : hit;
  }

  /**
   * The entry that a question with this name (lower-cased, in wire form) and type gets, as `lookup` chooses it; one
   * that is gone where there is no other. To look changes nothing: no hit is counted, no entry moves, none is removed.
   */
  inspect(name: Uint8Array, length: number, type: number): CachedEntry | undefined {
    const store = this.#store;
    const now = this.#now();
    const nameHash = store.hashOf(name, 0, length);
    const find = (each: number) => {
      const found = store.find(name, length, nameHash, each);
      return found === NONE || this.#drop.includes(found, name, length) ? NONE : found;
    };
    const slot = find(type);
    if (slot !== NONE && !this.#isExpired(slot, now)) return this.#describe(slot, now);
    const nxdomain = find(EVERY_TYPE);
    const isDenied = nxdomain !== NONE && this.#denies(nxdomain, type);
    const isDeniedNow = isDenied && !this.#isGone(nxdomain, now);
    if (slot !== NONE && !isDeniedNow) return this.#describe(slot, now);
    return isDenied ? this.#describe(nxdomain, now) : undefined;
  }

  /** Every answer, with the TTLs that it was stored with; it is undefined whether changes meanwhile are included. */
  *answers(): Generator<CachedAnswer> {
    for (let slot = 0; slot < this.#store.capacity; slot++) {
      if (this.#store.isUsed(slot)) yield this.#messageOf(slot);
    }
  }

  /**
   * The answers that clients may get when they have expired, for a snapshot, those that were used last at the end: as many of
   * these as have so many bytes together, where each has `moreBytes` beside its message. What changes meanwhile may be missing.
   */
  *snapshotAnswers(maxBytes: number, moreBytes = 0): Generator<SnapshotAnswer> {
    const store = this.#store;
    // A slot may have another entry by its turn.
    const slots: number[] = [];
    const serials: number[] = [];
    let bytes = 0;
    let remaining = SWEPT_ENTRIES;
    const { older, serial: serialOf } = store.columns;
    for (let slot = store.newest; slot !== NONE && remaining > 0; slot = older[slot]!) {
      remaining--;
      if (!this.#mayBeStale(slot)) continue;
      bytes += this.#messageBytes(slot) + moreBytes;
      if (bytes > maxBytes) break;
      slots.push(slot);
      serials.push(serialOf[slot]!);
    }
    for (let at = slots.length - 1; at >= 0; at--) {
      const slot = slots[at]!;
      const now = this.#now();
      const { serial, storedAt } = store.columns;
      if (!store.isUsed(slot) || serial[slot] !== serials[at]) continue;
      if (!this.#isGiven(slot, now)) continue;
      const { message } = this.#messageOf(slot);
      const ageSeconds = now - storedAt[slot]!;
      yield { message, ageSeconds, expiredSeconds: now - this.#endOf(slot) };
    }
  }

  /**
   * Stores an answer of a snapshot as an expired one, of which at least `expiredSeconds` have passed since its end. False where
   * no client would get it: it is too old, there is another answer of its question or its name is denied, there is no room, or
   * `dropRestored` was called. The answer is consumed.
   */
  restore(answer: CacheableAnswer, ageSeconds: number, expiredSeconds: number): boolean {
    if (!this.#takesRestored) return false;
    const store = this.#store;
    const { name, nameLength, type } = answer;
    const now = this.#now();
    const nameHash = store.hashOf(name, 0, nameLength);
    for (const each of [type, EVERY_TYPE]) {
      if (this.#find(name, nameLength, nameHash, each, now) !== NONE) return false;
    }
    const weight = this.#countsAnswers ? 1 : answer.weight;
    if (this.#isFull(weight, EntryStore.bytesOf(answer))) return false;
    const times = { storedAt: now - ageSeconds, expiresAt: now - Math.max(0, expiredSeconds) };
    const slot = store.addRestored(answer, nameHash, weight, times);
    if (!this.#isGone(slot, now) && this.#mayBeStale(slot)) return true;
    store.remove(slot);
    return false;
  }

  /** No client gets an answer of a snapshot from now on, and none is restored any more. */
  dropRestored(): void {
    if (!this.#takesRestored) return;
    this.#takesRestored = false;
    const { isRestored, expiresAt } = this.#store.columns;
    // None is given from now on, and a look-up need not ask why.
    for (let slot = 0; slot < isRestored.length; slot++) {
      if (isRestored[slot] === 1) expiresAt[slot] = Number.NEGATIVE_INFINITY;
    }
    void inTurns(this.#removeRestored());
  }

  /** Counts the entries by the zone of their names, in turns of the event loop. */
  async countBy(
    zoneOf: (name: Uint8Array, length: number) => string,
  ): Promise<Map<string, EntryCounts>> {
    const name = new Uint8Array(MAX_NAME_BYTES);
    const zones = new Map<string, EntryCounts>();
    let turnAtMs = performance.now();
    for (let slot = 0; slot < this.#store.capacity; slot++) {
      if (slot % ENTRIES_PER_CHECK === 0 && performance.now() - turnAtMs >= TURN_MS) {
        await new Promise((resolve) => setImmediate(resolve));
        turnAtMs = performance.now();
      }
      if (!this.#store.isUsed(slot)) continue;
      const zone = zoneOf(name, this.#store.copyName(slot, name));
      let counts = zones.get(zone);
      if (counts === undefined) {
        counts = { entries: 0, records: 0, negative: 0, stale: 0, pinned: 0, hits: 0, bytes: 0 };
        zones.set(zone, counts);
      }
      this.#countIn(counts, slot);
    }
    return zones;
  }

  /** Whether an answer for the question's name and this type is cached. */
  has({ name, nameLength }: Query, type: number): boolean {
    const nameHash = this.#store.hashOf(name, 0, nameLength);
    return this.#find(name, nameLength, nameHash, type, this.#now()) !== NONE;
  }

  /** Whether an answer that has not expired shows that a name (lower-cased, in wire form) exists. */
  hasName(name: Uint8Array, length: number): boolean {
    if (this.#store.size === 0) return false;
    const nameHash = this.#store.hashOf(name, 0, length);
    const now = this.#now();
    for (const type of TYPES_OF_NAMES) {
      const slot = this.#find(name, length, nameHash, type, now);
      if (slot !== NONE && !this.#isExpired(slot, now)) return true;
    }
    return false;
  }

  /** Whether a question with this name and type gets an answer that has not expired. */
  isLive({ name, nameLength, type }: CacheableAnswer): boolean {
    const nameHash = this.#store.hashOf(name, 0, nameLength);
    const now = this.#now();
    return [type, EVERY_TYPE].some((each) => {
      const slot = this.#find(name, nameLength, nameHash, each, now);
      return slot !== NONE && !this.#isExpired(slot, now);
    });
  }

  /**
   * Stores an answer, and each target of its CNAMEs that `isStored` allows also under its own name; false for one with
   * more records than the cache holds, NXDOMAIN of a target that has cached records, and one that a source said had
   * changed after `serial`. Until a source says so, it does not expire. The answer is consumed.
   */
  store(
    answer: CacheableAnswer,
    isStored: (target: CacheableAnswer) => boolean,
    source?: ChangeSource,
    serial = 0,
  ): boolean {
    const { type, cnames, target, targetLength } = answer;
    if (!this.#countsAnswers && answer.totalWeight > this.maxRecords) return false;
    if (cnames > 0 && this.#drop.mayBeLate(answer, this.#now())) return false;
    if (type === EVERY_TYPE && cnames > 0 && this.hasName(target, targetLength)) return false;
    const isNew = this.#storeOne(answer, source, serial);
    while (answer.followCname()) if (isStored(answer)) this.#storeOne(answer, source, serial);
    return isNew;
  }

  /** Expired answers for a name, for this type or every one, were asked for in vain: see the columns. */
  noteTried(name: Uint8Array, length: number, type: number, atMs: number): void {
    const { triedAtMs } = this.#store.columns;
    this.#eachExpired(name, length, type, (slot) => (triedAtMs[slot] = atMs));
  }

  /** Removes these expired answers: a newer one is known, and not cached. */
  dropExpired(name: Uint8Array, length: number, type: number): void {
    this.#eachExpired(name, length, type, (slot) => this.#store.remove(slot));
  }

  /**
   * Drops the answers of a domain (lower-cased, in wire form) and all names below it: no such answer
   * is served from now on, and the entries are removed in bounded slices of work.
   */
  dropBelow(domain: Uint8Array): void {
    if (this.#store.size > 0) this.#drop.add(domain);
  }

  /** Drops, as `dropBelow` does, the answers that a change of a name in a zone may change, pinned or not. */
  dropNotified(name: Uint8Array, zone: Uint8Array): void {
    this.#drop.addChanged(name, zone, this.#now());
  }

  /**
   * Drops the pinned entries of a source that a change of a name (lower-cased, in wire form) with this serial may
   * change: the name and all below it, those above it, as they depend on whether it exists, and those that any change
   * drops. Returns their number, without those that go as in `dropNotified`, in a zone: below the name of a namespace.
   */
  dropChanged(name: Uint8Array, source: ChangeSource, serial: number, zone = source.apex): number {
    const { apex, changes, number } = source;
    if (isAboveServices(name, apex)) {
      this.dropNotified(name, zone);
      changes.noteAll(serial);
    }
    let count = this.#removePinned(number, ANY_KEY);
    const end = suffixOffset(name, name.length, apex);
    for (let at = 0; at === 0 || at < end; at += 1 + name[at]!) {
      const key = this.#keyOf(name, at, name.length);
      changes.note(key, serial);
      count += this.#removePinned(number, key, name, at);
    }
    return count;
  }

  /** Empties the cache; its counters start again, as dnsmasq's do on SIGHUP, but those of all time. */
  clear(): void {
    this.#drop.stop();
    this.#store.clear();
    this.#insertionsBefore += this.insertions;
    this.#evictionsBefore += this.evictions;
    this.insertions = this.evictions = 0;
  }

  /** Ends work in progress; the cache stays usable. */
  close(): void {
    this.#drop.stop();
  }

  #find(name: Uint8Array, length: number, nameHash: number, type: number, now: number): number {
    const slot = this.#store.find(name, length, nameHash, type);
    if (slot === NONE) return NONE;
    if (!this.#drop.includes(slot, name, length) && !this.#isGone(slot, now)) return slot;
    this.#store.remove(slot);
    return NONE;
  }

  /** Whether NXDOMAIN is the answer to a type. The CNAME before it exists, whatever its target. */
  #denies(nxdomain: number, type: number): boolean {
    return type !== TYPE.CNAME || this.#store.columns.cnames[nxdomain] === 0;
  }

  #eachExpired(name: Uint8Array, length: number, type: number, act: (slot: number) => void): void {
    const nameHash = this.#store.hashOf(name, 0, length);
    const now = this.#now();
    for (const each of [type, EVERY_TYPE]) {
      const slot = this.#find(name, length, nameHash, each, now);
      if (slot !== NONE && this.#isExpired(slot, now)) act(slot);
    }
  }

  // Lifetimes, in seconds by the cache's clock.

  #isExpired(slot: number, now: number): boolean {
    return now >= this.#store.columns.expiresAt[slot]! && now >= this.#endOf(slot);
  }

  /** Whether no client gets it any more. */
  #isGone(slot: number, now: number): boolean {
    return now >= this.#store.columns.expiresAt[slot]! && now >= this.#goneAt(slot);
  }

  /**
   * Whether clients may get it after it has expired. Not that a name of the cluster does not exist: it may exist by now,
   * and SERVFAIL lets a client ask again. That there are no records of a type stays: some stub resolvers give up a name
   * whose AAAA gets SERVFAIL. The entry stays, too, in front of the older answers of its name.
   */
  #mayBeStale(slot: number): boolean {
    const { isOfCluster, type } = this.#store.columns;
    return isOfCluster[slot] === 0 || type[slot] !== EVERY_TYPE;
  }

  /** When it expires: with its TTL, which begins again whenever the server that pins it is seen. */
  #endOf(slot: number): number {
    const { subscription, storedAt, expiresAt } = this.#store.columns;
    const lifetime = expiresAt[slot]! - storedAt[slot]!;
    const seenAt = this.#lastSeenAt[subscription[slot]!]!;
    return Math.max(
      expiresAt[slot]!,
      Math.min(seenAt + lifetime, storedAt[slot]! + MAX_PINNED_SECONDS),
    );
  }

  /** When its last lifetime began: it is known to have been right then. */
  #knownAt(slot: number): number {
    const { storedAt, expiresAt } = this.#store.columns;
    return this.#endOf(slot) - (expiresAt[slot]! - storedAt[slot]!);
  }

  #goneAt(slot: number): number {
    const isOfCluster = this.#store.columns.isOfCluster[slot] === 1;
    const limit = isOfCluster ? MAX_STALE_CLUSTER_SECONDS : Number.POSITIVE_INFINITY;
    return this.#endOf(slot) + Math.min(this.#maxStaleSeconds, limit);
  }

  /** Whether clients get it when it has expired: it is not too old, and no newer answer is in front of it. */
  #isGiven(slot: number, now: number): boolean {
    const store = this.#store;
    if (this.#isGone(slot, now) || !this.#mayBeStale(slot)) return false;
    const length = store.copyName(slot, this.#name);
    if (this.#drop.includes(slot, this.#name, length)) return false;
    if (store.nxdomains === 0 || store.columns.type[slot] === EVERY_TYPE) return true;
    const nameHash = store.hashOf(this.#name, 0, length);
    const nxdomain = store.find(this.#name, length, nameHash, EVERY_TYPE);
    if (nxdomain === NONE || this.#isGone(nxdomain, now)) return true;
    return !this.#denies(nxdomain, store.columns.type[slot]!);
  }

  *#removeRestored(): Generator<void> {
    const store = this.#store;
    for (let slot = 0; slot < store.capacity; slot++) {
      if (store.columns.isRestored[slot] === 1 && store.isUsed(slot)) store.remove(slot);
      if (slot % ENTRIES_PER_CHECK === 0) yield;
    }
  }

  // Hits.

  #noteStale(hit: Hit, slot: number, now: number): void {
    const { triedAtMs, setSize } = this.#store.columns;
    hit.staleSeconds = now - this.#endOf(slot);
    hit.triedAtMs = triedAtMs[slot]!;
    hit.isDenial = setSize[slot] === 0;
  }

  /** Those whose server announces changes need no newer one. */
  #countHit(slot: number): number {
    const { hits, subscription } = this.#store.columns;
    const count = hits[slot]!;
    if (count < MAX_HITS) hits[slot] = count + 1;
    return count === PREFETCHED || subscription[slot] !== 0 ? 0 : hits[slot]!;
  }

  /**
   * Writes the response to a query and returns its length; 0 when `out` is too small. An expired entry has the TTL of
   * the options, or, where that is 0, TTLs as old as they are; a pinned one past its lifetime has them from when its server was last seen.
   */
  #write({ slot, nowSeconds, isStale }: Hit, query: Query, out: Uint8Array): number {
    const { columns } = this.#store;
    const start = query.questionEnd;
    const length = columns.recordBytes[slot]!;
    if (start + length > out.length) return 0;
    this.#store.copyRecords(slot, out, start);
    if (columns.setSize[slot]! > 1 && this.#rotatesRecords) this.#rotate(slot, out, start);
    const answers = columns.cnames[slot]! + columns.setSize[slot]!;
    const authorities = columns.authorities[slot]!;
    const records = answers + authorities;
    const staleTtl = isStale ? this.#staleTtl(slot, nowSeconds) : 0;
    if (staleTtl > 0) setTtls(out, start, records, staleTtl);
    else {
      const isPinnedOn = !isStale && nowSeconds >= columns.expiresAt[slot]!;
      const sinceSeconds = isPinnedOn ? this.#knownAt(slot) : columns.storedAt[slot]!;
      const age = this.#keepsTtls ? 0 : Math.max(0, Math.floor(nowSeconds - sinceSeconds));
      ageRecords(out, start, records, age, this.#maxTtlSeconds);
    }
    for (let i = QUESTION_OFFSET; i < start; i++) out[i] = query.bytes[i]!;
    const flags = FLAG.QR | FLAG.RA | (query.flags & (FLAG.RD | FLAG.CD)) | columns.flags[slot]!;
    writeResponseHeader(out, query.id, flags, answers, authorities);
    return start + length;
  }

  #staleTtl(slot: number, now: number): number {
    return Math.min(this.#staleTtlSeconds, Math.ceil(this.#goneAt(slot) - now));
  }

  /**
   * Rotates the set of an entry, whose records are at `start`; no pointer leads into it. The next response has it one
   * further back: 0123, 3012, 2301 (dnsmasq src/cache.c, cache_find_by_name).
   */
  #rotate(slot: number, out: Uint8Array, start: number): void {
    const { cnames, setSize, turn: turns } = this.#store.columns;
    const size = setSize[slot]!;
    const turn = turns[slot]!;
    turns[slot] = turn === 0 ? size - 1 : turn - 1;
    if (turn === 0) return;
    const setStart = skipRecords(out, start, cnames[slot]!);
    const split = skipRecords(out, setStart, turn);
    const end = skipRecords(out, split, size - turn);
    const moved = split - setStart;
    for (let i = 0; i < moved; i++) scratch[i] = out[setStart + i]!;
    out.copyWithin(setStart, split, end);
    for (let i = 0; i < moved; i++) out[end - moved + i] = scratch[i]!;
  }

  // What is stored, and what has to go for it.

  #storeOne(answer: CacheableAnswer, source: ChangeSource | undefined, serial: number): boolean {
    const store = this.#store;
    const { name, nameLength, type } = answer;
    const key = source === undefined ? ANY_KEY : this.#keyFor(answer, source.apex);
    if (source !== undefined && !isCurrent(key, source, serial)) return false;
    const now = this.#now();
    const weight = this.#countsAnswers ? 1 : answer.weight;
    const nameHash = store.hashOf(name, 0, nameLength);
    this.#removeQuestion(name, nameLength, nameHash, type);
    // The name exists. The other way round, NXDOMAIN does not end answers of the name: servers in front of
    // load balancers deny a name that they were asked about for AAAA.
    if (type !== EVERY_TYPE && store.nxdomains > 0) {
      this.#removeQuestion(name, nameLength, nameHash, EVERY_TYPE);
    }
    this.#makeRoom(weight, EntryStore.bytesOf(answer), now);
    const slot = store.add(answer, nameHash, weight, now);
    if (source !== undefined) {
      store.subscribe(slot, source.number, key);
      const { expiresAt } = store.columns;
      expiresAt[slot] = Math.min(expiresAt[slot]!, now + source.maxSeconds);
    }
    const server = this.#zoneServers?.serverNumber(name, nameLength, source?.number ?? 0) ?? 0;
    if (server !== 0) store.countFor(slot, server, now);
    this.insertions += answer.insertions;
    return true;
  }

  #removeQuestion(name: Uint8Array, length: number, nameHash: number, type: number): void {
    const slot = this.#store.find(name, length, nameHash, type);
    if (slot !== NONE) this.#store.remove(slot);
  }

  /** Removes expired answers first, and then, as evictions, the least recently used. */
  #makeRoom(weight: number, bytes: number, now: number): void {
    if (!this.#isFull(weight, bytes)) return;
    this.#sweep(now);
    while (this.#isFull(weight, bytes)) {
      const slot = this.#store.oldest;
      if (!this.#isGone(slot, now)) this.evictions++;
      this.#store.remove(slot);
    }
  }

  #isFull(weight: number, bytes: number): boolean {
    const { records, usedBytes } = this.#store;
    return records + weight > this.maxRecords || usedBytes + bytes > this.#maxBytes;
  }

  /**
   * Once a second removes entries that are gone, and of others that have expired what is beyond half of the cache, so
   * that those that have not need not go; in a cache larger than a step, as the next part of it has them.
   */
  #sweep(now: number): void {
    const second = Math.floor(now);
    if (second === this.#sweptAtSecond) return;
    this.#sweptAtSecond = second;
    const store = this.#store;
    const { capacity, columns } = store;
    const count = Math.min(capacity, SWEPT_ENTRIES);
    let records = 0;
    let bytes = 0;
    for (let remaining = count; remaining > 0; remaining--) {
      if (this.#sweptSlot >= capacity) this.#sweptSlot = 0;
      const slot = this.#sweptSlot++;
      if (!store.isUsed(slot)) continue;
      if (this.#isGone(slot, now)) store.remove(slot);
      else if (this.#isExpired(slot, now)) {
        records += columns.weight[slot]!;
        bytes += store.bytesAt(slot);
      }
    }
    const parts = capacity / count;
    this.#removeExpired(
      records * parts - this.maxRecords / 2,
      bytes * parts - this.#maxBytes / 2,
      now,
    );
  }

  /** Removes expired entries of so many records and bytes, the least recently used first. */
  #removeExpired(records: number, bytes: number, now: number): void {
    const store = this.#store;
    const { weight, newer } = store.columns;
    let slot = store.oldest;
    for (let remaining = SWEPT_ENTRIES; remaining > 0 && slot !== NONE; remaining--) {
      if (records <= 0 && bytes <= 0) return;
      const next = newer[slot]!;
      if (this.#isExpired(slot, now)) {
        records -= weight[slot]!;
        bytes -= store.bytesAt(slot);
        store.remove(slot);
      }
      slot = next;
    }
  }

  // Pinned entries: a change finds them by their key, the hash of the name whose changes change them.

  /** The answer of a CNAME depends on its target, too, which has another name. */
  #keyFor({ name, nameLength, cnames }: CacheableAnswer, apex: Uint8Array): number {
    const at = cnames > 0 ? EVERY_CHANGE : keyOffset(name, nameLength, apex);
    return at === EVERY_CHANGE ? ANY_KEY : this.#keyOf(name, at, nameLength);
  }

  #keyOf(name: Uint8Array, start: number, end: number): number {
    // Not ANY_KEY.
    return finishHash(this.#store.hashOf(name, start, end)) | 1;
  }

  /** Removes the entries with a key that are at or below a name, from an offset on: another one may have the same hash. */
  #removePinned(number: number, key: number, name?: Uint8Array, at = 0): number {
    const store = this.#store;
    let count = 0;
    for (let slot = store.nextOfKey(key); slot !== NONE;) {
      const next = store.nextOfKey(key, slot);
      const isOfTeller = store.columns.subscription[slot]! % WITH_TTL === number;
      if (isOfTeller && (name === undefined || this.#isBelow(slot, name.subarray(at)))) {
        store.remove(slot);
        count++;
      }
      slot = next;
    }
    return count;
  }

  #isBelow(slot: number, domain: Uint8Array): boolean {
    const length = this.#store.copyName(slot, this.#name);
    return isInZone(this.#name, length, domain);
  }

  // What is shown of entries.

  #describe(slot: number, now: number): CachedEntry {
    const { columns } = this.#store;
    const isExpired = this.#isExpired(slot, now);
    const state = this.#stateOf(slot, now);
    const hits = columns.hits[slot]!;
    return {
      rcode: columns.flags[slot]! & RCODE_MASK,
      isNxdomain: columns.type[slot] === EVERY_TYPE,
      isNegative: columns.setSize[slot] === 0,
      cnames: columns.cnames[slot]!,
      records: columns.setSize[slot]!,
      ageSeconds: now - columns.storedAt[slot]!,
      lifetimeSeconds: columns.expiresAt[slot]! - columns.storedAt[slot]!,
      secondsLeft: columns.expiresAt[slot]! - now,
      state,
      expiredSeconds: isExpired ? now - this.#endOf(slot) : 0,
      staleSecondsLeft: state === 'expired' ? this.#goneAt(slot) - now : 0,
      hits: this.#countsHits ? Math.min(hits, MAX_HITS) : undefined,
      isPrefetched: hits === PREFETCHED,
      triedAtMs: columns.triedAtMs[slot]!,
      subscription: columns.subscription[slot]!,
      isRestored: columns.isRestored[slot] === 1,
    };
  }

  #stateOf(slot: number, now: number): CachedEntry['state'] {
    if (now < this.#store.columns.expiresAt[slot]!) return 'fresh';
    if (now < this.#endOf(slot)) return 'pinned';
    return now < this.#goneAt(slot) && this.#mayBeStale(slot) ? 'expired' : 'gone';
  }

  #countIn(counts: EntryCounts, slot: number): void {
    const { weight, setSize, hits, subscription } = this.#store.columns;
    counts.entries++;
    counts.records += weight[slot]!;
    counts.hits += Math.min(hits[slot]!, MAX_HITS);
    counts.bytes += this.#store.bytesAt(slot);
    if (setSize[slot] === 0) counts.negative++;
    if (this.#isExpired(slot, this.#now())) counts.stale++;
    else if (subscription[slot] !== 0) counts.pinned++;
  }

  #messageBytes(slot: number): number {
    const { nameBytes, recordBytes } = this.#store.columns;
    return QUESTION_OFFSET + nameBytes[slot]! + QUESTION_FIXED_BYTES + recordBytes[slot]!;
  }

  #messageOf(slot: number): CachedAnswer {
    const { columns } = this.#store;
    const questionEnd = QUESTION_OFFSET + columns.nameBytes[slot]! + QUESTION_FIXED_BYTES;
    const message = new Uint8Array(this.#messageBytes(slot));
    this.#store.copyName(slot, message, QUESTION_OFFSET);
    this.#store.copyRecords(slot, message, questionEnd);
    writeUint16(message, questionEnd - 4, columns.type[slot]!);
    writeUint16(message, questionEnd - 2, CLASS.IN);
    const answers = columns.cnames[slot]! + columns.setSize[slot]!;
    const flags = FLAG.QR | columns.flags[slot]!;
    writeResponseHeader(message, 0, flags, answers, columns.authorities[slot]!);
    return { message, secondsLeft: Math.floor(columns.expiresAt[slot]! - this.#now()) };
  }
}

/** Whether a reply with this serial knows every change of its answer that was announced. */
function isCurrent(key: number, { changes }: ChangeSource, serial: number): boolean {
  return key === ANY_KEY ? changes.areAllKnown(serial) : changes.isKnown(key, serial);
}

/** Subtracts the age from the TTLs of records; 0 at least, and no more than the ceiling unless that is 0. */
function ageRecords(
  bytes: Uint8Array,
  start: number,
  count: number,
  ageSeconds: number,
  ceilingSeconds: number,
): void {
  for (let at = start; count > 0; count--) {
    let remaining = ttlOf(bytes, at) - ageSeconds;
    if (remaining < 0) remaining = 0;
    else if (ceilingSeconds > 0 && remaining > ceilingSeconds) remaining = ceilingSeconds;
    setTtl(bytes, at, remaining);
    at = skipRecords(bytes, at, 1);
  }
}

/** Writes the header of a response to one question. */
function writeResponseHeader(
  bytes: Uint8Array,
  id: number,
  flags: number,
  answers: number,
  authorities: number,
): void {
  writeUint16(bytes, 0, id);
  writeUint16(bytes, 2, flags);
  writeUint16(bytes, 4, 1);
  writeUint16(bytes, 6, answers);
  writeUint16(bytes, 8, authorities);
  writeUint16(bytes, 10, 0);
}
