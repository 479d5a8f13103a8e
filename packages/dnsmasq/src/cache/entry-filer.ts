import type { CellStore } from './cell-store.js';
import type { EntryTable } from './entry-table.js';
import type { KeptAnswer } from './kept-answer.js';

/** Puts entries into columns and cells. */
export class EntryFiler {
  readonly #table: EntryTable;
  readonly #cells: CellStore;
  /** A name, then its records, on the way into the cells. */
  readonly #scratch = new Uint8Array(0x1_0000);

  constructor(table: EntryTable, cells: CellStore) {
    this.#table = table;
    this.#cells = cells;
  }

  /** Makes the newest entry, the `serial`-th; its hash is that of its name with its type. */
  file(entry: KeptAnswer, hash: number, serial: number, storedAt: number): void {
    const table = this.#table;
    const { nameLength, length } = entry;
    const slot = table.add(hash);
    this.#scratch.set(entry.name.subarray(0, nameLength));
    this.#scratch.set(entry.bytes.subarray(0, length), nameLength);
    table.cells[slot] = this.#cells.put(this.#scratch, nameLength + length);
    table.nameBytes[slot] = nameLength;
    table.recordBytes[slot] = length;
    table.types[slot] = entry.type;
    table.rcodes[slot] = entry.rcode;
    table.aliases[slot] = entry.aliases;
    table.setSizes[slot] = entry.setSize;
    table.authorities[slot] = entry.authorities;
    table.turns[slot] = 0;
    table.weights[slot] = entry.weight;
    table.serials[slot] = serial;
    table.storedAt[slot] = storedAt;
    // A TTL of 0, which only a cache that serves stale answers keeps, is good for the moment.
    table.expiresAt[slot] = storedAt + Math.max(entry.lifetimeSeconds, 1);
  }
}
