import { CLASS, FLAG, type Query, QUESTION_OFFSET, writeUint16 } from '@kube-dns/wire';
import type { CellStore } from './cell-store.js';
import type { EntryTable } from './entry-table.js';
import { ageRecords, turnRecords, writeResponseHeader } from './record-block.js';

/** One answer, for a dump. */
export interface CachedAnswer {
  /** A response to the question; its type is EVERY_TYPE where the name does not exist. */
  readonly message: Uint8Array;
  readonly secondsLeft: number;
}

export interface EntryWriterOptions {
  /** Ceiling on the TTLs that clients see, in seconds; 0 is none. */
  readonly maxTtlSeconds: number;
  /** Each answer has its records one further on. */
  readonly turnsRecords: boolean;
}

const QUESTION_FIXED_BYTES = 4;

/** Writes entries of the cache as responses: whoever asks gets them behind his own question. */
export class EntryWriter {
  readonly #table: EntryTable;
  readonly #cells: CellStore;
  readonly #options: EntryWriterOptions;
  /** Records on the way to their new place. */
  readonly #scratch = new Uint8Array(0x1_0000);

  constructor(table: EntryTable, cells: CellStore, options: EntryWriterOptions) {
    this.#table = table;
    this.#cells = cells;
    this.#options = options;
  }

  /**
   * Writes an entry as the response to a query and returns its length; 0 when `out` is too small. A TTL
   * that has passed is 0. The next response has the records one further on.
   */
  write(slot: number, query: Query, out: Uint8Array, now: number): number {
    const table = this.#table;
    const start = query.questionEnd;
    const length = table.recordBytes[slot]!;
    if (start + length > out.length) return 0;
    this.#cells.copyTo(table.cells[slot]!, table.nameBytes[slot]!, length, out, start);
    if (table.setSizes[slot]! > 1 && this.#options.turnsRecords) this.#turn(slot, out, start);
    const age = Math.floor(now - table.storedAt[slot]!);
    const answers = table.aliases[slot]! + table.setSizes[slot]!;
    const authorities = table.authorities[slot]!;
    ageRecords(out, start, answers + authorities, age, this.#options.maxTtlSeconds);
    for (let i = QUESTION_OFFSET; i < start; i++) out[i] = query.bytes[i]!;
    const flags = FLAG.QR | FLAG.RA | (query.flags & (FLAG.RD | FLAG.CD)) | table.rcodes[slot]!;
    writeResponseHeader(out, query.id, flags, answers, authorities);
    return start + length;
  }

  /** An entry as a message of its own, with the TTLs that it was stored with. */
  show(slot: number, now: number): CachedAnswer {
    const table = this.#table;
    const nameBytes = table.nameBytes[slot]!;
    const recordBytes = table.recordBytes[slot]!;
    const questionEnd = QUESTION_OFFSET + nameBytes + QUESTION_FIXED_BYTES;
    const message = new Uint8Array(questionEnd + recordBytes);
    this.#cells.copyTo(table.cells[slot]!, 0, nameBytes, message, QUESTION_OFFSET);
    this.#cells.copyTo(table.cells[slot]!, nameBytes, recordBytes, message, questionEnd);
    writeUint16(message, questionEnd - 4, table.types[slot]!);
    writeUint16(message, questionEnd - 2, CLASS.IN);
    const answers = table.aliases[slot]! + table.setSizes[slot]!;
    writeResponseHeader(message, 0, table.rcodes[slot]!, answers, table.authorities[slot]!);
    return { message, secondsLeft: Math.floor(table.expiresAt[slot]! - now) };
  }

  #turn(slot: number, out: Uint8Array, start: number): void {
    const { turns, aliases, setSizes } = this.#table;
    const turn = turns[slot]!;
    const setSize = setSizes[slot]!;
    if (turn > 0) turnRecords(out, start, aliases[slot]!, setSize, turn, this.#scratch);
    // One further back each time: 0123, 3012, 2301 (dnsmasq src/cache.c, cache_find_by_name).
    turns[slot] = turn === 0 ? setSize - 1 : turn - 1;
  }
}
