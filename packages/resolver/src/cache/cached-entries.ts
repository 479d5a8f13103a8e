import { hashBytes, MAX_NAME_BYTES, RCODE_MASK, TYPE } from '@kube-dns/wire';
import { NONE } from '../none.js';
import { EVERY_TYPE } from './cacheable-answer.js';
import type { DomainDrop } from './domain-drop.js';
import type { EntryLifetimes } from './entry-lifetimes.js';
import type { EntryTable } from './entry-table.js';
import type { CachedAnswer, EntryWriter } from './entry-writer.js';
import { FETCHED, MAX_HITS } from './last-answer.js';
import { questionHash } from './question-hash.js';

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
  /** `kept`: a subscription keeps it, also past its TTL; `gone`: expired, and no client gets it any more. */
  readonly state: 'fresh' | 'kept' | 'expired' | 'gone';
  /** Since when it has expired, and until when clients may get it, from now on; 0 unless it has expired. */
  readonly expiredSeconds: number;
  readonly staleSecondsLeft: number;
  /** How often it was asked for, up to MAX_HITS; undefined where that is not counted. */
  readonly hits: number | undefined;
  /** A newer one is on its way, before this one expires. */
  readonly isPrefetched: boolean;
  /** The forwarder's milliseconds when it was asked for in vain after its end; 0 is never. */
  readonly triedAtMs: number;
  /** The number of the subscription that tells when it changes; 0 is none. */
  readonly subscription: number;
}

/** The entries of one zone. */
export interface EntryCounts {
  entries: number;
  records: number;
  negative: number;
  /** Those that have expired. */
  stale: number;
  /** Those that a subscription keeps. */
  kept: number;
  /** Of those that are cached now, as far as hits are counted. */
  hits: number;
  bytes: number;
}

export interface CachedEntriesOptions {
  readonly table: EntryTable;
  readonly lifetimes: EntryLifetimes;
  readonly drop: Pick<DomainDrop, 'includes'>;
  readonly writer: Pick<EntryWriter, 'show'>;
  readonly seed: number;
  readonly countsHits: boolean;
  readonly now: () => number;
}

/** How long entries are counted before queries get a turn, checked after this many. */
const TURN_MS = 5;
const ENTRIES_PER_LOOK = 256;

/** Shows the entries of a cache. To look changes nothing: no hit is counted, no entry moves, none is removed. */
export class CachedEntries {
  readonly #options: CachedEntriesOptions;
  readonly #name = new Uint8Array(MAX_NAME_BYTES);

  constructor(options: CachedEntriesOptions) {
    this.#options = options;
  }

  /**
   * The entry that a question with this name (lower-cased, in wire form) and type gets, as AnswerCache.answer chooses it;
   * one that is gone where there is no other.
   */
  find(name: Uint8Array, length: number, type: number): CachedEntry | undefined {
    const { lifetimes, table, now } = this.#options;
    const nowSeconds = now();
    const slot = this.#slotOf(name, length, type);
    if (slot !== NONE && !lifetimes.isExpired(slot, nowSeconds)) return this.#show(slot);
    const denial = this.#slotOf(name, length, EVERY_TYPE);
    // The CNAME before it exists, whatever its target.
    const isDenied = denial !== NONE && (type !== TYPE.CNAME || table.columns.cnames[denial] === 0);
    const isDenialThere = isDenied && !lifetimes.isGone(denial, nowSeconds);
    if (slot !== NONE && !isDenialThere) return this.#show(slot);
    return isDenied ? this.#show(denial) : undefined;
  }

  /** Every answer; it is undefined whether changes during the iteration are included. */
  *answers(): Generator<CachedAnswer> {
    const { table, writer, now } = this.#options;
    for (let slot = 0; slot < table.capacity; slot++) {
      if (table.isUsed(slot)) yield writer.show(slot, now());
    }
  }

  /** Counts the entries by the zone of their names, in turns of the event loop. */
  async countBy(
    zoneOf: (name: Uint8Array, length: number) => string,
  ): Promise<Map<string, EntryCounts>> {
    const { table } = this.#options;
    const zones = new Map<string, EntryCounts>();
    let turnAtMs = performance.now();
    for (let slot = 0; slot < table.capacity; slot++) {
      if (slot % ENTRIES_PER_LOOK === 0 && performance.now() - turnAtMs >= TURN_MS) {
        await new Promise((resolve) => setImmediate(resolve));
        turnAtMs = performance.now();
      }
      if (!table.isUsed(slot)) continue;
      const zone = zoneOf(this.#name, table.copyName(slot, this.#name, 0));
      const counts = zones.get(zone) ?? emptyCounts();
      zones.set(zone, counts);
      this.#count(slot, counts);
    }
    return zones;
  }

  #slotOf(name: Uint8Array, length: number, type: number): number {
    const { table, drop, seed } = this.#options;
    const hash = questionHash(hashBytes(seed, name, 0, length), type);
    const slot = table.size === 0 ? NONE : table.find(name, length, hash, type);
    return slot === NONE || drop.includes(slot, name, length) ? NONE : slot;
  }

  #show(slot: number): CachedEntry {
    const { table, lifetimes, countsHits, now } = this.#options;
    const { columns } = table;
    const nowSeconds = now();
    const isPast = nowSeconds >= columns.expiresAt[slot]!;
    const isExpired = lifetimes.isExpired(slot, nowSeconds);
    const isGone = isExpired && lifetimes.isGone(slot, nowSeconds);
    const hits = columns.hits[slot]!;
    return {
      rcode: columns.flags[slot]! & RCODE_MASK,
      isNxdomain: columns.type[slot] === EVERY_TYPE,
      isNegative: columns.setSize[slot] === 0,
      cnames: columns.cnames[slot]!,
      records: columns.setSize[slot]!,
      ageSeconds: nowSeconds - columns.storedAt[slot]!,
      lifetimeSeconds: columns.expiresAt[slot]! - columns.storedAt[slot]!,
      secondsLeft: columns.expiresAt[slot]! - nowSeconds,
      state: isGone ? 'gone' : isExpired ? 'expired' : isPast ? 'kept' : 'fresh',
      expiredSeconds: isExpired ? nowSeconds - lifetimes.endOf(slot) : 0,
      staleSecondsLeft: isExpired ? Math.max(0, lifetimes.goneAt(slot) - nowSeconds) : 0,
      hits: countsHits ? Math.min(hits, MAX_HITS) : undefined,
      isPrefetched: hits === FETCHED,
      triedAtMs: columns.triedAtMs[slot]!,
      subscription: columns.subscription[slot]!,
    };
  }

  #count(slot: number, counts: EntryCounts): void {
    const { table, lifetimes, now } = this.#options;
    const { weight, setSize, hits, subscription } = table.columns;
    counts.entries++;
    counts.records += weight[slot]!;
    counts.hits += Math.min(hits[slot]!, MAX_HITS);
    counts.bytes += table.bytesAt(slot);
    if (setSize[slot] === 0) counts.negative++;
    if (lifetimes.isExpired(slot, now())) counts.stale++;
    else if (subscription[slot] !== 0) counts.kept++;
  }
}

function emptyCounts(): EntryCounts {
  return { entries: 0, records: 0, negative: 0, stale: 0, kept: 0, hits: 0, bytes: 0 };
}
