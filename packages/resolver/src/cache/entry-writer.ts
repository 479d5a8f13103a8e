import {
  CLASS,
  FLAG,
  type Query,
  QUESTION_FIXED_BYTES,
  QUESTION_OFFSET,
  writeUint16,
} from '@kube-dns/wire';
import type { EntryTable } from './entry-table.js';
import { ageRecords, rotateRecords, setTtls, writeResponseHeader } from './record-block.js';

/** One answer, for a dump. */
export interface CachedAnswer {
  /** A response to the question; its type is EVERY_TYPE where the name does not exist. */
  readonly message: Uint8Array;
  readonly secondsLeft: number;
}

/** Records while they are moved, in any cache. */
const scratch = new Uint8Array(0x1_0000);

/** Not stale. */
export const FRESH = -1;

export interface EntryWriterOptions {
  /** Ceiling on the TTLs that clients see, in seconds; 0 is none. */
  readonly maxTtlSeconds: number;
  /** Whether each answer rotates its records by one. */
  readonly rotatesRecords: boolean;
  /** Whether TTLs are those that the entry was stored with. */
  readonly keepsTtls: boolean;
}

/** Writes entries of the cache as responses: each client gets them after its own question. */
export class EntryWriter {
  readonly #table: EntryTable;
  readonly #options: EntryWriterOptions;

  constructor(table: EntryTable, options: EntryWriterOptions) {
    this.#table = table;
    this.#options = options;
  }

  /**
   * Writes an entry as the response to a query and returns its length; 0 when `out` is too small. When it is stale,
   * all TTLs are `staleTtl`, or as old as they are where that is 0; else it is FRESH. Past its lifetime it is kept then,
   * and they are those of a new one. The next response has the records one further on.
   */
  write(slot: number, query: Query, out: Uint8Array, staleTtl: number, now: number): number {
    const { columns } = this.#table;
    const start = query.questionEnd;
    const length = columns.recordBytes[slot]!;
    if (start + length > out.length) return 0;
    this.#table.copyRecords(slot, out, start);
    if (columns.setSize[slot]! > 1 && this.#options.rotatesRecords) this.#turn(slot, out, start);
    const isPast = now >= columns.expiresAt[slot]!;
    const isNew = this.#options.keepsTtls || (isPast && staleTtl === FRESH);
    const age = isNew ? 0 : Math.floor(now - columns.storedAt[slot]!);
    const answers = columns.cnames[slot]! + columns.setSize[slot]!;
    const authorities = columns.authorities[slot]!;
    const records = answers + authorities;
    if (staleTtl > 0) setTtls(out, start, records, staleTtl);
    else ageRecords(out, start, records, age, this.#options.maxTtlSeconds);
    for (let i = QUESTION_OFFSET; i < start; i++) out[i] = query.bytes[i]!;
    const flags = FLAG.QR | FLAG.RA | (query.flags & (FLAG.RD | FLAG.CD)) | columns.flags[slot]!;
    writeResponseHeader(out, query.id, flags, answers, authorities);
    return start + length;
  }

  /** An entry as a separate message, with the TTLs that it was stored with. */
  show(slot: number, now: number): CachedAnswer {
    const { columns } = this.#table;
    const questionEnd = QUESTION_OFFSET + columns.nameBytes[slot]! + QUESTION_FIXED_BYTES;
    const message = new Uint8Array(questionEnd + columns.recordBytes[slot]!);
    this.#table.copyName(slot, message, QUESTION_OFFSET);
    this.#table.copyRecords(slot, message, questionEnd);
    writeUint16(message, questionEnd - 4, columns.type[slot]!);
    writeUint16(message, questionEnd - 2, CLASS.IN);
    const answers = columns.cnames[slot]! + columns.setSize[slot]!;
    writeResponseHeader(message, 0, columns.flags[slot]!, answers, columns.authorities[slot]!);
    return { message, secondsLeft: Math.floor(columns.expiresAt[slot]! - now) };
  }

  #turn(slot: number, out: Uint8Array, start: number): void {
    const { columns } = this.#table;
    const turn = columns.turn[slot]!;
    const setSize = columns.setSize[slot]!;
    if (turn > 0) rotateRecords(out, start, columns.cnames[slot]!, setSize, turn, scratch);
    // One further back each time: 0123, 3012, 2301 (dnsmasq src/cache.c, cache_find_by_name).
    columns.turn[slot] = turn === 0 ? setSize - 1 : turn - 1;
  }
}
