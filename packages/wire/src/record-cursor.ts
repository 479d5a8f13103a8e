import { readUint16, readUint32 } from './bytes.js';
import { skipName } from './name.js';
import { HEADER_BYTES, MAX_TTL_SECONDS, QUESTION_FIXED_BYTES } from './protocol.js';

/** The record sections of a message, in their order on the wire. */
export const SECTION = { ANSWER: 0, AUTHORITY: 1, ADDITIONAL: 2 } as const;
export type Section = (typeof SECTION)[keyof typeof SECTION];

const RECORD_FIXED_BYTES = 10;
const NO_MESSAGE = new Uint8Array(0);

/**
 * Steps through the records of a message without decoding them. Every offset that it shows lies inside
 * the message; names are stepped over, not followed. A class that reads many messages reuses one
 * cursor; a function with a cursor parameter leaves it at any record.
 */
export class RecordCursor {
  #bytes: Uint8Array = NO_MESSAGE;
  #length = 0;
  #left = 0;
  section: Section = SECTION.ANSWER;
  /** Where the record begins, with its owner name. */
  start = 0;
  /** Where the record's type is: after the owner name. */
  typeAt = 0;
  rdataStart = 0;
  /** The offset after the record (before the first `next`: after the question). */
  end = 0;
  #isMalformed = false;

  /** Moves before the first record. A message that ends inside its header or questions is malformed. */
  reset(bytes: Uint8Array, length: number): this {
    this.#bytes = bytes;
    this.#length = length;
    this.#isMalformed = length < HEADER_BYTES;
    this.section = SECTION.ANSWER;
    this.#left = this.#isMalformed ? 0 : readUint16(bytes, 6);
    this.end = HEADER_BYTES;
    if (!this.#isMalformed) this.#skipQuestions(readUint16(bytes, 4));
    return this;
  }

  /** True when a record does not fit the message; `next` then returns false. */
  isMalformed(): boolean {
    return this.#isMalformed;
  }

  get type(): number {
    return readUint16(this.#bytes, this.typeAt);
  }

  get class(): number {
    return readUint16(this.#bytes, this.typeAt + 2);
  }

  get ttlAt(): number {
    return this.typeAt + 4;
  }

  /** See {@link soundTtl}. Of OPT, whose TTL is none, read the bytes at `ttlAt`. */
  get ttlSeconds(): number {
    return soundTtl(readUint32(this.#bytes, this.ttlAt));
  }

  /** Goes to the next record; false at the end of the message or where it is malformed. */
  next(): boolean {
    if (this.#isMalformed) return false;
    while (this.#left === 0) {
      if (this.section === SECTION.ADDITIONAL) return false;
      this.section = this.section === SECTION.ANSWER ? SECTION.AUTHORITY : SECTION.ADDITIONAL;
      this.#left = readUint16(this.#bytes, this.section === SECTION.AUTHORITY ? 8 : 10);
    }
    this.#left--;
    this.start = this.end;
    this.typeAt = skipName(this.#bytes, this.start, this.#length);
    if (this.typeAt < 0 || this.typeAt + RECORD_FIXED_BYTES > this.#length) return this.#fail();
    this.rdataStart = this.typeAt + RECORD_FIXED_BYTES;
    this.end = this.rdataStart + readUint16(this.#bytes, this.typeAt + 8);
    return this.end <= this.#length || this.#fail();
  }

  #skipQuestions(count: number): void {
    for (let i = 0; i < count; i++) {
      const nameEnd = skipName(this.#bytes, this.end, this.#length);
      if (nameEnd < 0 || nameEnd + QUESTION_FIXED_BYTES > this.#length) {
        this.#fail();
        return;
      }
      this.end = nameEnd + QUESTION_FIXED_BYTES;
    }
  }

  #fail(): false {
    this.#isMalformed = true;
    return false;
  }
}

/** A TTL with the top bit set counts as zero (RFC 2181 section 8). */
export function soundTtl(ttlSeconds: number): number {
  return ttlSeconds > MAX_TTL_SECONDS ? 0 : ttlSeconds;
}
