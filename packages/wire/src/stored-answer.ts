import { readUint16, writeUint16, writeUint32 } from './bytes.js';
import { FLAG, HEADER_BYTES, QUESTION_OFFSET } from './protocol.js';
import type { Query } from './query.js';
import { RecordCursor, SECTION } from './record-cursor.js';

const cursor = new RecordCursor();

/**
 * The answer section of one message, kept as bytes without header and question. Compression pointers
 * in it stay true behind any question of the same name, because such a question is as long as the one
 * it was cut from; so it is glued behind the next client's question, whose case survives.
 */
export class StoredAnswer {
  readonly #records: Uint8Array;
  /** Offset of each record's TTL inside `#records`, and the TTL when it was stored. */
  readonly #ttlOffsets: Uint16Array;
  readonly #ttlSeconds: Uint32Array;
  readonly rcode: number;
  /** The smallest TTL: the answer is whole for so long, and all of it ends together. */
  readonly minTtlSeconds: number;

  private constructor(rcode: number, records: Uint8Array, ttlOffsets: number[], ttls: number[]) {
    this.rcode = rcode;
    this.#records = records;
    this.#ttlOffsets = Uint16Array.from(ttlOffsets);
    this.#ttlSeconds = Uint32Array.from(ttls);
    this.minTtlSeconds = ttls.length === 0 ? 0 : Math.min(...ttls);
  }

  /** Bytes of memory that the records take, object overhead aside. */
  get byteLength(): number {
    return this.#records.length + this.#ttlOffsets.length * 6;
  }

  get recordCount(): number {
    return this.#ttlSeconds.length;
  }

  /** Cuts the answer section out of a response to one question; undefined when it is malformed. */
  static fromResponse(bytes: Uint8Array, length: number): StoredAnswer | undefined {
    cursor.reset(bytes, length);
    if (cursor.isMalformed() || readUint16(bytes, 4) !== 1) return undefined;
    const start = cursor.end;
    let { end } = cursor;
    const ttlOffsets: number[] = [];
    const ttls: number[] = [];
    while (cursor.next() && cursor.section === SECTION.ANSWER) {
      ttlOffsets.push(cursor.ttlAt - start);
      // A TTL with the top bit set counts as zero (RFC 2181 section 8).
      ttls.push(cursor.ttlSeconds > 0x7fff_ffff ? 0 : cursor.ttlSeconds);
      ({ end } = cursor);
    }
    if (cursor.isMalformed()) return undefined;
    const rcode = readUint16(bytes, 2) & 0xf;
    // Not slice(): of a Buffer that is a view.
    const records = new Uint8Array(bytes.subarray(start, end));
    return new StoredAnswer(rcode, records, ttlOffsets, ttls);
  }

  /**
   * Writes a response to `query` with the stored records, their TTLs less `ageSeconds` (0 at least),
   * and returns its length so far; OPT is the caller's (see appendOpt). Returns -1 when `out` is too small.
   */
  writeTo(query: Query, out: Uint8Array, ageSeconds: number): number {
    const start = query.questionEnd;
    const end = start + this.#records.length;
    if (end > out.length) return -1;
    out.set(this.#records, start);
    for (let i = QUESTION_OFFSET; i < start; i++) out[i] = query.bytes[i]!;
    for (let i = 0; i < this.#ttlOffsets.length; i++) {
      const left = this.#ttlSeconds[i]! - ageSeconds;
      writeUint32(out, start + this.#ttlOffsets[i]!, left > 0 ? left : 0);
    }
    writeUint16(out, 0, query.id);
    writeUint16(out, 2, FLAG.QR | FLAG.RA | (query.flags & (FLAG.RD | FLAG.CD)) | this.rcode);
    out.fill(0, 4, HEADER_BYTES);
    writeUint16(out, 4, 1);
    writeUint16(out, 6, this.recordCount);
    return end;
  }
}
