import { AnswerWriter } from './answer-writer.js';
import { readUint16, readUint32, writeUint16 } from './bytes.js';
import { OwnerNames } from './owner-names.js';
import { CLASS, MAX_MESSAGE_BYTES, TYPE } from './protocol.js';
import { Query } from './query.js';
import { expandRdata } from './rdata-names.js';
import { RecordCursor, SECTION } from './record-cursor.js';

/** A pointer, then type, class, TTL and length: a record has no fewer bytes. */
const MIN_RECORD_BYTES = 12;

/** Writes messages anew with compressed names (RFC 1035 section 4.1.4). One is reused. */
export class Compressor {
  readonly #query = new Query();
  readonly #writer = new AnswerWriter();
  readonly #cursor = new RecordCursor();
  readonly #owners = new OwnerNames(false);
  readonly #out = new Uint8Array(MAX_MESSAGE_BYTES);
  readonly #rdata = new Uint8Array(MAX_MESSAGE_BYTES);

  /**
   * Compresses a message in place for `maxBytes` and returns its new length; the same where that would not help: it has too many
   * records, no question, is malformed, or is signed.
   */
  compress(message: Uint8Array, length: number, maxBytes: number): number {
    const cursor = this.#cursor.reset(message, length);
    const questionEnd = cursor.end;
    const records = readUint16(message, 6) + readUint16(message, 8) + readUint16(message, 10);
    const least = questionEnd + records * MIN_RECORD_BYTES;
    if (cursor.isMalformed() || readUint16(message, 4) !== 1 || least > maxBytes) return length;
    const out = this.#out;
    const end = this.#write(message, questionEnd, out);
    if (end < 0 || end >= length) return length;
    // The flags, with the response code, are those of before.
    for (let i = 0; i < 4; i++) out[i] = message[i]!;
    for (let i = 0; i < end; i++) message[i] = out[i]!;
    return end;
  }

  /** Writes the records behind the question; returns the length, or -1 where that is not possible. */
  #write(message: Uint8Array, questionEnd: number, out: Uint8Array): number {
    const query = this.#query;
    const cursor = this.#cursor;
    query.bytes = message;
    query.questionEnd = questionEnd;
    query.class = readUint16(message, questionEnd - 2);
    this.#writer.begin(query, out);
    this.#owners.reset(message);
    let optStart = -1;
    let optEnd = -1;
    while (cursor.next()) {
      const { section, start, typeAt, type, rdataStart, end } = cursor;
      if (type === TYPE.OPT && section === SECTION.ADDITIONAL && optStart < 0) {
        optStart = start;
        optEnd = end;
        continue;
      }
      // Of another class is a signature, too, which covers the bytes as they are.
      if (cursor.class !== query.class || query.class !== CLASS.IN) return -1;
      if (this.#owners.read(start, typeAt) < 0) return -1;
      const bytes = expandRdata(message, type, rdataStart, end, this.#rdata, 0);
      const ttl = readUint32(message, cursor.ttlAt);
      const isAdded =
        bytes >= 0 && this.#writer.add(section, this.#owners.name, type, ttl, this.#rdata, bytes);
      if (!isAdded) return -1;
    }
    if (cursor.isMalformed()) return -1;
    let end = this.#writer.finish();
    if (optStart < 0) return end;
    if (end + optEnd - optStart > out.length) return -1;
    for (let i = optStart; i < optEnd; i++) out[end++] = message[i]!;
    writeUint16(out, 10, readUint16(out, 10) + 1);
    return end;
  }
}
