import { NO_EDNS_OPTIONS } from '@kube-dns/wire';
import { NONE } from '../none.js';
import type { EntryLifetimes } from './entry-lifetimes.js';
import type { EntryTable } from './entry-table.js';
import { FRESH } from './entry-writer.js';

/** What is known of the entry that was answered with last; valid until another one is, or the cache changes. */
export class LastAnswer {
  /** It has expired; then for how long. */
  isStale = false;
  staleSeconds = 0;
  /** When an expired one was asked for in vain: see the columns. */
  triedAtMs = 0;
  /** An expired one says that there are no records. */
  isDenial = false;
  #slot = NONE;
  readonly #table: EntryTable;
  readonly #lifetimes: EntryLifetimes;
  readonly #staleTtlSeconds: number;

  /** `staleTtlSeconds` is the TTL of expired answers. */
  constructor(table: EntryTable, lifetimes: EntryLifetimes, staleTtlSeconds: number) {
    this.#table = table;
    this.#lifetimes = lifetimes;
    this.#staleTtlSeconds = staleTtlSeconds;
  }

  /** The Extended DNS Errors that the server gave with it, as options. */
  get reasons(): Uint8Array {
    const isThere = this.#table.columns.reasonBytes[this.#slot]! > 0;
    return isThere ? this.#table.copyReasons(this.#slot) : NO_EDNS_OPTIONS;
  }

  /** Notes the entry; returns the TTL that it is told with when it has expired, else FRESH. */
  note(slot: number, now: number): number {
    this.#slot = slot;
    this.isStale = this.#lifetimes.isExpired(slot, now);
    if (!this.isStale) return FRESH;
    const { triedAtMs, setSize } = this.#table.columns;
    this.staleSeconds = now - this.#lifetimes.endOf(slot);
    this.triedAtMs = triedAtMs[slot]!;
    this.isDenial = setSize[slot] === 0;
    return Math.min(this.#staleTtlSeconds, Math.ceil(this.#lifetimes.goneAt(slot) - now));
  }
}
