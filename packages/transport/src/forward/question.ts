import {
  CLASS,
  finishHash,
  FLAG,
  hashByte,
  HEADER_BYTES,
  isSameQuestion,
  lowerCaseByte,
  MAX_NAME_BYTES,
  OPT_BYTES,
  type Query,
  QUESTION_FIXED_BYTES,
  QUESTION_OFFSET,
  randomSeed,
  readUint16,
  RecordCursor,
  SECTION,
  skipName,
  isInZone,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';
import { randomId } from '../random-id.js';

/** The variant of a question that is asked for one client alone. */
export const UNSHARED = -1;
/** Bits beside the header's flags. */
const IS_DNSSEC_OK = 1;
const IS_OVER_TCP = 2;
/** Header bits that a question is sent with; AD only where the answer's AD is passed on. */
const FLAGS = FLAG.RD | FLAG.CD | FLAG.AD;
/** The bit of an OPT record (RFC 3225 section 3). */
const DNSSEC_OK = 0x8000;
/** The longest name, its question and an OPT record with small options fit; a longer query is a rare one. */
const MAX_QUERY_BYTES = 512;
const NO_BYTES = new Uint8Array(0);
const CASE_BIT = 0x20;
const BITS_PER_DRAW = 16;
const cursor = new RecordCursor();

/** What tells questions of one name, type and class apart. */
export interface QuestionVariant {
  /** What changes an answer: header bits, DO, the transport; UNSHARED where no other client may join. */
  readonly variant: number;
  /** The EDNS options that the question is sent with. */
  readonly options: Uint8Array;
}

/**
 * What makes two queries the same question: name in any case, type, class, RD, CD, DO, transport, and the EDNS
 * options that this server adds. What else a client sends does not leave, so it makes no difference.
 */
export class QuestionKey implements QuestionVariant {
  /** Name in lower case, type and class; valid up to `length`. */
  readonly question = new Uint8Array(MAX_NAME_BYTES + QUESTION_FIXED_BYTES);
  length = 0;
  /** Of name and type, with a secret start. */
  hash = 0;
  variant = 0;
  options: Uint8Array = NO_BYTES;
  /** Not what most clients ask, and join: one client can make any number of such questions of a name. */
  isVariant = false;
  readonly #seed = randomSeed();
  readonly #flags: number;

  /** `passesAd`: the client's AD makes a difference, and is sent. */
  constructor(passesAd: boolean) {
    this.#flags = passesAd ? FLAGS : FLAGS & ~FLAG.AD;
  }

  /** Builds the key of a query that is sent with these options; `hasClientSubnet`: one of them is as the client likes. */
  fill(query: Query, options: Uint8Array, hasClientSubnet: boolean): void {
    const { question } = this;
    const { name, nameLength } = query;
    let hash = this.#seed;
    for (let i = 0; i < nameLength; i++) {
      const byte = name[i]!;
      question[i] = byte;
      hash = hashByte(hash, byte);
    }
    writeUint16(question, nameLength, query.type);
    writeUint16(question, nameLength + 2, query.class);
    this.hash = finishHash(hashByte(hash, query.type));
    this.length = nameLength + QUESTION_FIXED_BYTES;
    this.options = options;
    const flags = query.flags & this.#flags;
    this.variant = query.hasOtherRecords
      ? UNSHARED
      : flags | (query.isDnssecOk ? IS_DNSSEC_OK : 0) | (query.isOverTcp ? IS_OVER_TCP : 0);
    const isCommon = (flags & (FLAG.RD | FLAG.CD)) === FLAG.RD && query.class === CLASS.IN;
    this.isVariant = !isCommon || hasClientSubnet || query.hasOtherRecords;
  }

  /** Whether a question of the same name, type and class is the same in all else, and may be shared. */
  isOf({ variant, options }: QuestionVariant): boolean {
    if (variant === UNSHARED || variant !== this.variant) return false;
    return options === this.options || Buffer.compare(options, this.options) === 0;
  }
}

/** A question that was sent, or waits to be: the message for the servers, and what was its key. */
export class ForwardedQuestion implements QuestionVariant {
  hash = 0;
  variant = UNSHARED;
  options: Uint8Array = NO_BYTES;
  isVariant = false;
  /** Others may join, and the reply be cached: the question is shared, and its servers are still the same. */
  isShared = false;
  /** Servers get its name in mixed case, which their replies must have, too. */
  hasMixedCase = false;
  /** Not a part of a pool of Node's, all of which it would retain. */
  readonly #memory = Buffer.allocUnsafeSlow(MAX_QUERY_BYTES);
  #message: Buffer = this.#memory;
  #bytes = 0;

  /** What servers get, with the question from QUESTION_OFFSET on; its ID is the sender's to set. */
  get message(): Buffer {
    return this.#message;
  }

  /** Becomes that of a client's query, which has this key; the message before is written over. */
  set(query: Query, key: QuestionKey, mixesCase: boolean, maxUdpBytes: number): void {
    const { length, hash, variant, options, isVariant } = key;
    this.hash = hash;
    this.variant = variant;
    this.options = options;
    this.isVariant = isVariant;
    this.#bytes = length;
    this.isShared = variant !== UNSHARED;
    this.hasMixedCase = mixesCase && this.isShared;
    const size = this.isShared ? query.questionEnd + OPT_BYTES + options.length : query.length;
    if (size > MAX_QUERY_BYTES) this.#message = Buffer.allocUnsafe(size);
    else if (this.#message.length !== size) this.#message = this.#memory.subarray(0, size);
    if (this.isShared) writeQuery(this.#message, query, variant & FLAGS, maxUdpBytes, options);
    else writeUnchanged(this.#message, query, maxUdpBytes);
    if (this.hasMixedCase) mixCase(this.#message);
  }

  /** Retains no long message. */
  clear(): void {
    if (this.#message.length > MAX_QUERY_BYTES) this.#message = this.#memory;
  }

  /** Whether others with this key may join. */
  isJoinedBy(key: QuestionKey): boolean {
    if (key.hash !== this.hash || key.length !== this.#bytes) return false;
    if (!this.isShared || !key.isOf(this)) return false;
    return isSameQuestion(this.#message, QUESTION_OFFSET, key.question, 0, key.length);
  }

  /** Whether another one has the same name and type. */
  isNamedAs(other: ForwardedQuestion): boolean {
    if (other.hash !== this.hash || other.#bytes !== this.#bytes) return false;
    const own = this.#message;
    const others = other.#message;
    const typeAt = QUESTION_OFFSET + this.#bytes - QUESTION_FIXED_BYTES;
    for (let i = QUESTION_OFFSET; i < typeAt; i++) {
      if (lowerCaseByte(others[i]!) !== lowerCaseByte(own[i]!)) return false;
    }
    return readUint16(others, typeAt) === readUint16(own, typeAt);
  }

  /** Whether the name is at or below a domain (lower-cased, in wire form). */
  isBelow(domain: Uint8Array): boolean {
    if (domain.length === 1) return true;
    const name = this.copy();
    return isInZone(name, name.length - QUESTION_FIXED_BYTES, domain);
  }

  /** A copy of name, in lower case, type and class. */
  copy(): Uint8Array {
    const copy = new Uint8Array(this.#bytes);
    const nameBytes = copy.length - QUESTION_FIXED_BYTES;
    for (let i = 0; i < copy.length; i++) {
      const byte = this.#message[QUESTION_OFFSET + i]!;
      copy[i] = i < nameBytes ? lowerCaseByte(byte) : byte;
    }
    return copy;
  }
}

/**
 * The query for upstream servers: the client's question with an OPT record of ours, because OPT is hop by hop
 * (RFC 6891 section 6.1.1): UDP answers of at most `maxUdpBytes`, DO as the client set it, and these
 * options.
 */
function writeQuery(
  message: Uint8Array,
  query: Query,
  flags: number,
  maxUdpBytes: number,
  options: Uint8Array,
): void {
  const { bytes, questionEnd } = query;
  const optionsAt = questionEnd + OPT_BYTES;
  writeUint16(message, 2, flags);
  for (let i = 4; i < QUESTION_OFFSET; i++) message[i] = 0;
  message[5] = message[11] = 1;
  for (let i = QUESTION_OFFSET; i < questionEnd; i++) message[i] = bytes[i]!;
  message[questionEnd] = 0;
  writeUint16(message, questionEnd + 1, TYPE.OPT);
  writeUint16(message, questionEnd + 3, maxUdpBytes);
  writeUint16(message, questionEnd + 5, 0);
  writeUint16(message, questionEnd + 7, query.isDnssecOk ? DNSSEC_OK : 0);
  writeUint16(message, optionsAt - 2, options.length);
  for (let i = 0; i < options.length; i++) message[optionsAt + i] = options[i]!;
}

/**
 * A query with other records than OPT: unchanged, because it may be signed (RFC 8945 section 5.5), but for
 * the size of UDP answers.
 */
function writeUnchanged(message: Uint8Array, query: Query, maxUdpBytes: number): void {
  message.set(query.bytes.subarray(0, query.length));
  cursor.reset(message, message.length);
  while (cursor.next()) {
    if (cursor.section !== SECTION.ADDITIONAL || cursor.type !== TYPE.OPT) continue;
    // The class of an OPT record is the size (RFC 6891 section 6.1.2).
    if (cursor.class > maxUdpBytes) writeUint16(message, cursor.typeAt + 2, maxUdpBytes);
  }
}

/** Gives each letter of a question's name a random case: what a forger must guess, too (draft-vixie-dnsext-dns0x20). */
function mixCase(query: Uint8Array): void {
  const end = skipName(query, HEADER_BYTES, query.length);
  let bits = 0;
  let unused = 0;
  for (let i = HEADER_BYTES; i < end; i++) {
    const lower = query[i]! | CASE_BIT;
    // Lengths of labels are below the letters.
    if (lower < 0x61 || lower > 0x7a || query[i]! < 0x41) continue;
    if (unused === 0) [bits, unused] = [randomId(), BITS_PER_DRAW];
    query[i] = (bits & 1) === 1 ? lower : lower & ~CASE_BIT;
    bits >>>= 1;
    unused--;
  }
}
