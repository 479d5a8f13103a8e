import type { EntryTable } from './entry-table.js';
import type { KeptEntries } from './kept-entries.js';

/** How long an expired answer of the cluster stays at most. */
const MAX_STALE_CLUSTER_SECONDS = 60;

/** When entries expire, and when they are gone: no client gets them any more. All by the cache's clock, in seconds. */
export class EntryLifetimes {
  readonly #table: EntryTable;
  readonly #kept: KeptEntries;
  readonly #maxStaleSeconds: number;

  /** `maxStaleSeconds` is how long an expired entry stays. */
  constructor(table: EntryTable, kept: KeptEntries, maxStaleSeconds: number) {
    this.#table = table;
    this.#kept = kept;
    this.#maxStaleSeconds = maxStaleSeconds;
  }

  isExpired(slot: number, now: number): boolean {
    return now >= this.#table.columns.expiresAt[slot]! && !this.#kept.has(slot, now);
  }

  isGone(slot: number, now: number): boolean {
    if (now < this.#table.columns.expiresAt[slot]!) return false;
    return now >= this.goneAt(slot) && !this.#kept.has(slot, now);
  }

  /** When an entry ended: with its TTL, or when its server told nothing more. */
  endOf(slot: number): number {
    return Math.max(this.#table.columns.expiresAt[slot]!, this.#kept.until(slot));
  }

  goneAt(slot: number): number {
    const isOfCluster = this.#table.columns.isOfCluster[slot] === 1;
    const limit = isOfCluster ? MAX_STALE_CLUSTER_SECONDS : Number.POSITIVE_INFINITY;
    return this.endOf(slot) + Math.min(this.#maxStaleSeconds, limit);
  }
}
