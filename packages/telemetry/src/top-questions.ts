import type { StatusFacts, StatusSections } from '@kube-dns/daemon';
import {
  addressText,
  decodeName,
  finishHash,
  FNV_OFFSET,
  hashBytes,
  MAX_NAME_BYTES,
  randomSeed,
  RCODE,
  RCODE_MASK,
  readUint16,
} from '@kube-dns/wire';
import type { ObservedAnswer } from './observed-answer.js';

const HALF_MINUTE_MS = 30_000;
const MAX_ADDRESS_BYTES = 16;
/** Rows of a list that are shown. */
const SHOWN = 20;

/** Of an answer what the lists need. */
type Counted = Pick<ObservedAnswer, 'query' | 'address' | 'addressBytes' | 'message' | 'length'>;

interface TopQuestionsOptions {
  /** A monotonic clock in milliseconds; `performance.now()` unless given. */
  readonly now?: () => number;
  readonly random?: Random;
}

/**
 * Who asks most, for which names, and for which names that do not exist, in the last half to whole minute. All questions
 * count up to 2,000 a second, a random one in 64 beyond. The memory is the same whatever is asked.
 */
export class TopQuestions {
  readonly #now: () => number;
  readonly #sampling: Sampling;
  readonly #clients = new TopList(MAX_ADDRESS_BYTES);
  readonly #names = new TopList(MAX_NAME_BYTES);
  readonly #nxdomainNames = new TopList(MAX_NAME_BYTES);
  #sinceMs: number;
  /** Questions of the sidecar. */
  #leftOut = 0;

  constructor({ now = () => performance.now(), random }: TopQuestionsOptions = {}) {
    this.#now = now;
    this.#sampling = new Sampling(random);
    this.#sinceMs = now();
  }

  /** For how many questions the next one is to be noted; 0 when it is not. */
  take(): number {
    return this.#sampling.take();
  }

  /** Notes a question that is in no list. */
  leaveOut(): void {
    this.#leftOut++;
  }

  /** Counts a question so many times. */
  note({ query, address, addressBytes, message, length }: Counted, times: number): void {
    this.#rotate();
    this.#clients.add(address, addressBytes, times);
    this.#names.add(query.name, query.nameLength, times);
    const hasNoName = length > 0 && (readUint16(message, 2) & RCODE_MASK) === RCODE.NXDOMAIN;
    if (hasNoName) this.#nxdomainNames.add(query.name, query.nameLength, times);
  }

  /** The lists for a status page. `questions` may be too many by `error`, and by what is left to chance above 2,000 a second. */
  sections(): StatusSections {
    this.#rotate();
    const nameOf = (key: Uint8Array) => ({ name: decodeName(key) });
    return {
      'Top clients': rowsOf(this.#clients, (key) => ({ client: addressText(key) })),
      'Top names': rowsOf(this.#names, nameOf),
      'Top NXDOMAIN names': rowsOf(this.#nxdomainNames, nameOf),
      'Not in the top lists': { questionsOfTheSidecarSinceTheStart: this.#leftOut },
    };
  }

  close(): void {
    this.#sampling.close();
  }

  #rotate(): void {
    const nowMs = this.#now();
    const isLong = nowMs - this.#sinceMs >= 2 * HALF_MINUTE_MS;
    if (nowMs - this.#sinceMs < HALF_MINUTE_MS) return;
    this.#sinceMs = isLong ? nowMs : this.#sinceMs + HALF_MINUTE_MS;
    for (const list of [this.#clients, this.#names, this.#nxdomainNames]) {
      list.rotate();
      if (isLong) list.rotate();
    }
  }
}

function rowsOf(list: TopList, about: (key: Uint8Array) => StatusFacts): StatusFacts[] {
  return list
    .first(SHOWN)
    .map(({ key, count, error }: CountedKey) => ({ ...about(key), questions: count, error }));
}

/** This many questions of each period are all counted, */
const EXACT = 200;
const PERIOD_MS = 100;
/** then one in so many, at random, for all of them. */
const STEP = 64;

/** A source of random 32-bit numbers; the low bits are as good as the others. */
type Random = () => number;

/**
 * Chooses the questions that are counted, so that counting costs little at a high rate: every one at a low rate. The
 * distances are random, because questions often come in a pattern, such as A and AAAA in turn.
 */
export class Sampling {
  readonly #random: Random;
  #remaining = EXACT;
  #skip = 0;
  #timer: NodeJS.Timeout | undefined;
  #isTiming = false;

  constructor(random: Random = xorshift()) {
    this.#random = random;
  }

  /** How many questions the next one counts for; 0 when it is not counted. */
  take(): number {
    if (this.#remaining > 0) {
      if (this.#remaining-- === EXACT) this.#startPeriod();
      return 1;
    }
    if (this.#skip-- > 0) return 0;
    // 0 to 2 * STEP - 2 are left out, STEP - 1 on average.
    this.#skip = (this.#random() >>> 0) % (2 * STEP - 1);
    return STEP;
  }

  /** Ends the period; called by a timer that runs only while there are questions. */
  endPeriod(): void {
    this.#isTiming = false;
    this.#remaining = EXACT;
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #startPeriod(): void {
    if (this.#isTiming) return;
    this.#isTiming = true;
    if (this.#timer === undefined) {
      this.#timer = setTimeout(() => this.endPeriod(), PERIOD_MS).unref();
    } else this.#timer.refresh();
  }
}

/** Marsaglia's xorshift with 32 bits. */
function xorshift(): Random {
  let state = Math.floor(Math.random() * 0xffff_ffff) | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state;
  };
}

const COUNTERS = 256;

/** The most frequent keys of the last half to whole minute: what is counted now, and the half minute before. */
export class TopList {
  #current: SpaceSaving;
  #before: SpaceSaving;

  /** Keys have `keyBytes` at most. */
  constructor(keyBytes: number) {
    this.#current = new SpaceSaving(COUNTERS, keyBytes);
    this.#before = new SpaceSaving(COUNTERS, keyBytes);
  }

  /** Counts a key, the first `length` bytes of `key`, so many times. */
  add(key: Uint8Array, length: number, times: number): void {
    this.#current.add(key, length, times);
  }

  /** A half minute is over. */
  rotate(): void {
    const oldest = this.#before;
    this.#before = this.#current;
    this.#current = oldest;
    oldest.clear();
  }

  /** The first of the list, highest first. A key that one of the two does not have may have had its floor there. */
  first(limit: number): CountedKey[] {
    const found = [...this.#current.keys()].map(({ key, count, error }) =>
      sum(key, { count, error }, this.#before.countOf(key)),
    );
    const isFound = new Set(found.map(({ key }) => Buffer.from(key).toString('latin1')));
    for (const { key, count, error } of this.#before.keys()) {
      if (isFound.has(Buffer.from(key).toString('latin1'))) continue;
      found.push(sum(key, { count, error }, this.#current.countOf(key)));
    }
    return found.sort((a, b) => b.count - a.count || a.error - b.error).slice(0, limit);
  }
}

type Estimate = Pick<CountedKey, 'count' | 'error'>;

function sum(key: Uint8Array, a: Estimate, b: Estimate): CountedKey {
  return { key, count: a.count + b.count, error: a.error + b.error };
}

/** A key of a list, how often it was counted, and by how much that may be too high. */
interface CountedKey {
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
    const existing = this.#find(hash, key, length);
    if (existing !== NONE) {
      this.#counts[existing]! += times;
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
  countOf(key: Uint8Array): Estimate {
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
    for (let tries = counts.length; tries > 0; tries--) {
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
