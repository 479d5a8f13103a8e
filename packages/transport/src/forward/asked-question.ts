import {
  isSameQuestion,
  lowerCaseByte,
  type Query,
  QUESTION_FIXED_BYTES,
  QUESTION_OFFSET,
  readUint16,
  suffixOffset,
} from '@kube-dns/wire';
import type { FlightOwner } from './flight-owner.js';
import { mixCase } from './name-case.js';
import { type QuestionKey, type QuestionVariant, UNSHARED } from './question-key.js';
import { NO_OPTIONS, upstreamBytes, writeUpstream } from './upstream-query.js';

/** The longest name, its question and an OPT record with small options fit; a longer query is a rare one. */
const MAX_QUERY_BYTES = 512;

/** A question that was sent, or waits to be: its query, and what was its key. */
export class AskedQuestion implements QuestionVariant {
  hash = 0;
  variant = UNSHARED;
  options: Uint8Array = NO_OPTIONS.bytes;
  /** Others may join, and the reply be cached: the question is shared, and its servers are still the same. */
  isShared = false;
  /** Servers get its name in mixed case, which their replies must have, too. */
  hasMixedCase = false;
  /** Not a part of a pool of Node's, the whole of which it would keep. */
  readonly #room = Buffer.allocUnsafeSlow(MAX_QUERY_BYTES);
  #query: Buffer = this.#room;
  #bytes = 0;

  /** What servers get, with the question from QUESTION_OFFSET on. */
  get query(): Buffer {
    return this.#query;
  }

  /** Becomes that of a client's query, which has this key; the query before is written over. */
  set(
    query: Query,
    key: QuestionKey,
    mixesCase: boolean,
    { cursor, options: { maxUdpBytes } }: FlightOwner,
  ): void {
    const { length, hash, variant, options } = key;
    this.hash = hash;
    this.variant = variant;
    this.options = options;
    this.#bytes = length;
    const size = upstreamBytes(query, key);
    if (size > MAX_QUERY_BYTES) this.#query = Buffer.allocUnsafe(size);
    else if (this.#query.length !== size) this.#query = this.#room.subarray(0, size);
    writeUpstream(this.#query, query, key, maxUdpBytes, cursor);
    this.isShared = variant !== UNSHARED;
    this.hasMixedCase = mixesCase && this.isShared;
    if (this.hasMixedCase) mixCase(this.#query);
  }

  /** Keeps no long query. */
  clear(): void {
    if (this.#query.length > MAX_QUERY_BYTES) this.#query = this.#room;
  }

  /** Whether a key has the same name, type and class. */
  isNamedBy({ hash, question, length }: QuestionKey): boolean {
    if (hash !== this.hash || length !== this.#bytes) return false;
    return isSameQuestion(this.query, QUESTION_OFFSET, question, 0, length);
  }

  /** Whether another one has the same name and type. */
  isNamedAs(other: AskedQuestion): boolean {
    if (other.hash !== this.hash || other.#bytes !== this.#bytes) return false;
    const { query } = other;
    const typeAt = QUESTION_OFFSET + this.#bytes - QUESTION_FIXED_BYTES;
    for (let i = QUESTION_OFFSET; i < typeAt; i++) {
      if (lowerCaseByte(query[i]!) !== lowerCaseByte(this.query[i]!)) return false;
    }
    return readUint16(query, typeAt) === readUint16(this.query, typeAt);
  }

  /** Whether the name is at or below a domain (lower-cased, in wire form). */
  isBelow(domain: Uint8Array): boolean {
    if (domain.length === 1) return true;
    const name = this.copy();
    return suffixOffset(name, name.length - QUESTION_FIXED_BYTES, domain) >= 0;
  }

  /** A copy of name, in lower case, type and class. */
  copy(): Uint8Array {
    const copy = new Uint8Array(this.#bytes);
    const nameBytes = copy.length - QUESTION_FIXED_BYTES;
    for (let i = 0; i < copy.length; i++) {
      const byte = this.query[QUESTION_OFFSET + i]!;
      copy[i] = i < nameBytes ? lowerCaseByte(byte) : byte;
    }
    return copy;
  }
}
