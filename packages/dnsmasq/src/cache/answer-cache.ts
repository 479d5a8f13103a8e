import { MAX_NAME_BYTES, NameTable, type Query, type StoredAnswer } from '@kube-dns/wire';

/** One answer, in the list of all from the least to the most recently used. */
interface Entry {
  readonly key: Uint8Array;
  readonly answer: StoredAnswer;
  readonly storedAtSeconds: number;
  readonly expiresAtSeconds: number;
  older: Entry | undefined;
  newer: Entry | undefined;
}

export interface AnswerCacheOptions {
  /** Records that are kept at most; 0 keeps nothing. */
  readonly maxRecords: number;
  /** Seconds that never fall; the process's own clock unless said otherwise. */
  readonly nowSeconds?: () => number;
}

const TYPE_BYTES = 2;

/**
 * Answers by question. An answer leaves as a whole when its smallest TTL has passed, or when it is the
 * one longest unused and room is needed.
 */
export class AnswerCache {
  /** Records stored, and answers dropped for room before their time; dnsmasq counts them so. */
  insertions = 0;
  evictions = 0;
  /** Records that are kept at most. */
  readonly maxRecords: number;
  readonly #now: () => number;
  readonly #entries = new NameTable<Entry>();
  /** The question of the last look-up: the name and two bytes of type. */
  readonly #key = new Uint8Array(MAX_NAME_BYTES + TYPE_BYTES);
  #oldest: Entry | undefined;
  #newest: Entry | undefined;
  #records = 0;

  constructor(options: AnswerCacheOptions) {
    this.maxRecords = options.maxRecords;
    this.#now = options.nowSeconds ?? (() => performance.now() / 1000);
  }

  /** The records held now. */
  get recordCount(): number {
    return this.#records;
  }

  /** Writes the answer to a question into `out` and returns its length; 0 when there is none. */
  answer(query: Query, out: Uint8Array): number {
    const keyLength = this.#fillKey(query.name, query.nameLength, query.type);
    const entry = this.#entries.get(this.#key, 0, keyLength);
    if (entry === undefined) return 0;
    const now = this.#now();
    if (now >= entry.expiresAtSeconds) {
      this.#remove(entry);
      return 0;
    }
    this.#unlink(entry);
    this.#append(entry);
    const length = entry.answer.writeTo(query, out, Math.floor(now - entry.storedAtSeconds));
    return length < 0 ? 0 : length;
  }

  /**
   * Keeps an answer to a question (the name lower-cased, in wire form) until its smallest TTL has passed.
   * One with a TTL of 0, or with more records than the cache holds, is not kept.
   */
  store(name: Uint8Array, type: number, answer: StoredAnswer): void {
    const { maxRecords } = this;
    if (answer.minTtlSeconds === 0 || answer.recordCount > maxRecords) return;
    const keyLength = this.#fillKey(name, name.length, type);
    const old = this.#entries.get(this.#key, 0, keyLength);
    if (old !== undefined) this.#remove(old);
    const now = this.#now();
    while (this.#records + answer.recordCount > maxRecords) this.#evict(now);
    const entry: Entry = {
      key: this.#key.slice(0, keyLength),
      answer,
      storedAtSeconds: now,
      expiresAtSeconds: now + answer.minTtlSeconds,
      older: undefined,
      newer: undefined,
    };
    this.#entries.set(entry.key, entry);
    this.#append(entry);
    this.#records += answer.recordCount;
    this.insertions += answer.recordCount;
  }

  /** Empties the cache; its counters start again, as dnsmasq's do on SIGHUP. */
  clear(): void {
    this.#entries.clear();
    this.#oldest = this.#newest = undefined;
    this.#records = 0;
    this.insertions = 0;
    this.evictions = 0;
  }

  #fillKey(name: Uint8Array, length: number, type: number): number {
    for (let i = 0; i < length; i++) this.#key[i] = name[i]!;
    this.#key[length] = type >>> 8;
    this.#key[length + 1] = type;
    return length + TYPE_BYTES;
  }

  #evict(now: number): void {
    const entry = this.#oldest!;
    if (now < entry.expiresAtSeconds) this.evictions++;
    this.#remove(entry);
  }

  #remove(entry: Entry): void {
    this.#entries.delete(entry.key);
    this.#unlink(entry);
    this.#records -= entry.answer.recordCount;
  }

  #append(entry: Entry): void {
    entry.older = this.#newest;
    if (this.#newest !== undefined) this.#newest.newer = entry;
    else this.#oldest = entry;
    this.#newest = entry;
  }

  #unlink(entry: Entry): void {
    if (entry.older !== undefined) entry.older.newer = entry.newer;
    else this.#oldest = entry.newer;
    if (entry.newer !== undefined) entry.newer.older = entry.older;
    else this.#newest = entry.older;
    entry.older = entry.newer = undefined;
  }
}
