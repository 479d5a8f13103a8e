import { NO_EDNS_OPTIONS } from '@kube-dns/wire';
import { NONE } from '../none.js';
import type { EntryLifetimes } from './entry-lifetimes.js';
import type { EntryTable } from './entry-table.js';
import { FRESH } from './entry-writer.js';

/** The hits of an entry for which a newer one was asked, and the most that are counted. */
export const FETCHED = 255;
/** The most hits that are counted of others. */
export const MAX_HITS = 254;

/** What is known of the entry that was answered with last; valid until another one is, or the cache changes. */
export class LastAnswer {
  /** It has expired; then for how long. */
  isStale = false;
  staleSeconds = 0;
  /** When an expired one was asked for in vain: see the columns. */
  triedAtMs = 0;
  /** An expired one says that there are no records. */
  isDenial = false;
  /** How often it was asked for since it came, if that is counted; 0 when a newer one was asked for, or it is no use. */
  hits = 0;
  #slot = NONE;
  readonly #table: EntryTable;
  readonly #lifetimes: EntryLifetimes;
  readonly #staleTtlSeconds: number;
  readonly #countsHits: boolean;

  /** `staleTtlSeconds` is the TTL of expired answers. */
  constructor(
    table: EntryTable,
    lifetimes: EntryLifetimes,
    staleTtlSeconds: number,
    countsHits: boolean,
  ) {
    this.#countsHits = countsHits;
    this.#table = table;
    this.#lifetimes = lifetimes;
    this.#staleTtlSeconds = staleTtlSeconds;
  }

  /** The Extended DNS Errors that the server gave with it, as options. */
  get reasons(): Uint8Array {
    const isThere = this.#table.columns.reasonBytes[this.#slot]! > 0;
    return isThere ? this.#table.copyReasons(this.#slot) : NO_EDNS_OPTIONS;
  }

  /** The number of the subscription of who tells when it changes, WITH_TTL more if it has its TTL, too; 0 for none. */
  get subscription(): number {
    return this.#table.columns.subscription[this.#slot]!;
  }

  /** Notes the entry; returns the TTL that it is told with when it has expired, else FRESH. */
  note(slot: number, now: number): number {
    this.#slot = slot;
    this.isStale = this.#lifetimes.isExpired(slot, now);
    if (!this.isStale) {
      if (this.#countsHits) this.#count(slot);
      return FRESH;
    }
    const { triedAtMs, setSize } = this.#table.columns;
    this.staleSeconds = now - this.#lifetimes.endOf(slot);
    this.triedAtMs = triedAtMs[slot]!;
    this.isDenial = setSize[slot] === 0;
    return Math.min(this.#staleTtlSeconds, Math.ceil(this.#lifetimes.goneAt(slot) - now));
  }
  /** Its lifetime, and what is left of that, in seconds. */
  get lifetimeSeconds(): number {
    const { storedAt, expiresAt } = this.#table.columns;
    return expiresAt[this.#slot]! - storedAt[this.#slot]!;
  }
  secondsLeft(now: number): number {
    return this.#table.columns.expiresAt[this.#slot]! - now;
  }

  /** A newer one was asked for. */
  noteFetched(): void {
    this.#table.columns.hits[this.#slot] = FETCHED;
  }

  /** Those whose server tells when they change need no newer one. */
  #count(slot: number): void {
    const { hits, subscription } = this.#table.columns;
    const count = hits[slot]!;
    if (count < MAX_HITS) hits[slot] = count + 1;
    this.hits = count === FETCHED || subscription[slot] !== 0 ? 0 : hits[slot]!;
  }
}
