import { NONE } from '../none.js';
import type { EntryLifetimes } from './entry-lifetimes.js';
import type { EntryTable } from './entry-table.js';

/** Entries that are checked in one step. */
const SWEPT_ENTRIES = 65_536;

export interface ExpiredEntriesOptions {
  readonly table: EntryTable;
  readonly lifetimes: EntryLifetimes;
  readonly maxRecords: number;
  readonly maxBytes: number;
  readonly remove: (slot: number) => void;
}

/** Makes room of entries that have expired, so that others need not go; once a second, in bounded steps. */
export class ExpiredEntries {
  readonly #options: ExpiredEntriesOptions;
  #sweptAtSecond = -1;
  #hand = 0;

  constructor(options: ExpiredEntriesOptions) {
    this.#options = options;
  }

  /**
   * Removes entries that are gone, and of others that have expired what is beyond half of the cache; in a cache larger
   * than a step, as the next part of it has them.
   */
  sweep(now: number): void {
    const second = Math.floor(now);
    if (second === this.#sweptAtSecond) return;
    this.#sweptAtSecond = second;
    const { table, lifetimes, maxRecords, maxBytes, remove } = this.#options;
    const { capacity, columns } = table;
    const count = Math.min(capacity, SWEPT_ENTRIES);
    let records = 0;
    let bytes = 0;
    for (let left = count; left > 0; left--) {
      if (this.#hand >= capacity) this.#hand = 0;
      const slot = this.#hand++;
      if (!table.isUsed(slot)) continue;
      if (lifetimes.isGone(slot, now)) remove(slot);
      else if (lifetimes.isExpired(slot, now)) {
        records += columns.weight[slot]!;
        bytes += table.bytesAt(slot);
      }
    }
    const parts = capacity / count;
    this.#remove(records * parts - maxRecords / 2, bytes * parts - maxBytes / 2, now);
  }

  /** Removes expired entries of so many records and bytes, the least recently used first. */
  #remove(records: number, bytes: number, now: number): void {
    const { table, lifetimes, remove } = this.#options;
    const { columns } = table;
    let slot = table.oldest;
    for (let left = SWEPT_ENTRIES; left > 0 && slot !== NONE; left--) {
      if (records <= 0 && bytes <= 0) return;
      const next = columns.newer[slot]!;
      if (lifetimes.isExpired(slot, now)) {
        records -= columns.weight[slot]!;
        bytes -= table.bytesAt(slot);
        remove(slot);
      }
      slot = next;
    }
  }
}
