import type { Trace } from '@kube-dns/base';
import { readUint16 } from './bytes.js';
import { WireError } from './errors.js';
import { lowerCaseByte, skipName } from './name.js';
import {
  COOKIE_OPTION_BYTES,
  EDNS_OPTION,
  findOption,
  isCookieLength,
  OPTION_HEAD_BYTES,
} from './opt-record.js';
import {
  CLASSIC_UDP_BYTES,
  FLAG,
  HEADER_BYTES,
  MAX_DATAGRAM_BYTES,
  MAX_LABEL_BYTES,
  MAX_MESSAGE_BYTES,
  MAX_NAME_BYTES,
  OPCODE_MASK,
  QUESTION_OFFSET,
  SAFE_UDP_BYTES,
  TYPE,
} from './protocol.js';
import { isClusterVersionRequest, isZoneVersionRequest } from './zone-version.js';

/**
 * How a listener handles a message. `answer`: the query can be answered.
 * `drop`: nothing may be sent (too short, or itself a response, which could start a loop).
 * `badoption`: its question can be read, but not its COOKIE option. `cookie`: it has no question, only a cookie.
 */
export type Verdict = 'answer' | 'drop' | 'formerr' | 'notimp' | 'badvers' | 'badoption' | 'cookie';

/** The most records that a query may have outside its question: an IXFR's SOA, an OPT and a TSIG. */
const MAX_ANSWERS = 1;
const MAX_AUTHORITIES = 1;
const MAX_ADDITIONALS = 2;
const RECORD_FIXED_BYTES = 10;

/**
 * One query, read in place. A listener has one of these and reads every message into it, so code
 * that needs the query later (forwarding) copies what it needs.
 */
export class Query {
  /** The message; valid up to `length` until the listener reads the next one. */
  bytes: Uint8Array = new Uint8Array(0);
  length = 0;
  id = 0;
  /** The header's second word: opcode and flag bits, see FLAG. */
  flags = 0;
  /** The question's name, lower-cased, in wire form; valid up to `nameLength`. */
  readonly name = new Uint8Array(MAX_NAME_BYTES);
  nameLength = 0;
  /** The offset after the question: an answer echoes `bytes` from 12 up to here. */
  questionEnd = HEADER_BYTES;
  type = 0;
  class = 0;
  hasEdns = false;
  /** Whether there are records besides the question and OPT: a signature, or the SOA of an IXFR. */
  hasOtherRecords = false;
  /** The DNSSEC OK bit (RFC 3225). */
  isDnssecOk = false;
  /** Whether the version of the zone is wanted (RFC 9660); only if that is the first option. */
  asksZoneVersion = false;
  /** Whether the client knows versions of the cluster, too; only if the second option says so. */
  knowsClusterVersion = false;
  /** Where the data of the COOKIE option is in `bytes`, and how much (RFC 7873 section 4); 0 without one. */
  cookieAt = 0;
  cookieBytes = 0;
  isOverTcp = false;
  /** Set by a listener after `read`: the query has a good server cookie, so the address of its client is not forged. */
  hasGoodCookie = false;
  /** The largest answer that this client accepts, in bytes, without the cookie that is added to it. */
  maxAnswerBytes = CLASSIC_UDP_BYTES;
  /** The largest UDP message that this server receives and sends; its OPT records announce it. */
  maxUdpBytes = SAFE_UDP_BYTES;
  /** Set for a query that is explained alone: who decides about it notes there what it did. */
  trace: Trace | undefined = undefined;

  get isRecursionDesired(): boolean {
    return (this.flags & FLAG.RD) !== 0;
  }

  /**
   * Reads and judges a message before anything is decoded from it. Bytes after the last record are
   * ignored, as the originals do. `maxUdpBytes` caps what a client may ask for with EDNS.
   */
  read(bytes: Uint8Array, length: number, isOverTcp: boolean, maxUdpBytes: number): Verdict {
    this.bytes = bytes;
    this.length = length;
    this.isOverTcp = isOverTcp;
    this.hasGoodCookie = false;
    this.maxUdpBytes = maxUdpBytes;
    this.hasEdns = false;
    this.hasOtherRecords = false;
    this.isDnssecOk = false;
    this.asksZoneVersion = this.knowsClusterVersion = false;
    this.cookieAt = this.cookieBytes = 0;
    this.questionEnd = HEADER_BYTES;
    this.nameLength = this.type = this.class = 0;
    this.maxAnswerBytes = isOverTcp ? MAX_MESSAGE_BYTES : CLASSIC_UDP_BYTES;
    if (length < HEADER_BYTES) return 'drop';
    this.id = readUint16(bytes, 0);
    this.flags = readUint16(bytes, 2);
    if ((this.flags & FLAG.QR) !== 0) return 'drop';
    if (!isOverTcp && length > MAX_DATAGRAM_BYTES) return 'formerr';
    if ((this.flags & OPCODE_MASK) !== 0) return 'notimp';
    return readUint16(bytes, 4) === 0 ? this.#readCookie() : this.readBody();
  }

  /** Reads on a message of another opcode that has the form of a query, such as NOTIFY (RFC 1996 section 3.7). */
  readBody(): Verdict {
    if (!hasPlausibleCounts(this.bytes, 1) || !this.#readQuestion()) return 'formerr';
    return this.#readRecords(this.maxUdpBytes);
  }

  /** A message without a question may ask for a server cookie (RFC 7873 section 5.4). */
  #readCookie(): Verdict {
    if (!hasPlausibleCounts(this.bytes, 0)) return 'formerr';
    const verdict = this.#readRecords(this.maxUdpBytes);
    return verdict === 'answer' && this.cookieAt > 0 ? 'cookie' : 'formerr';
  }

  #readQuestion(): boolean {
    const { bytes, length, name } = this;
    let at = QUESTION_OFFSET;
    let written = 0;
    for (;;) {
      if (at >= length) return false;
      const labelBytes = bytes[at]!;
      // A pointer has nothing to point to in the first name of a message.
      if (labelBytes > MAX_LABEL_BYTES || written + labelBytes >= MAX_NAME_BYTES) return false;
      if (at + labelBytes >= length) return false;
      name[written++] = labelBytes;
      at++;
      if (labelBytes === 0) break;
      for (const end = at + labelBytes; at < end; at++) name[written++] = lowerCaseByte(bytes[at]!);
    }
    if (at + 4 > length) return false;
    this.nameLength = written;
    this.type = readUint16(bytes, at);
    this.class = readUint16(bytes, at + 2);
    this.questionEnd = at + 4;
    return true;
  }

  /** Walks the records after the question to find the OPT record, an additional one (RFC 6891 section 6.1). */
  #readRecords(maxUdpBytes: number): Verdict {
    const { bytes, length } = this;
    const firstAdditional = readUint16(bytes, 6) + readUint16(bytes, 8);
    const count = firstAdditional + readUint16(bytes, 10);
    let version = 0;
    let hasBadCookie = false;
    let at = this.questionEnd;
    for (let i = 0; i < count; i++) {
      const fixedAt = skipName(bytes, at, length);
      if (fixedAt < 0 || fixedAt + RECORD_FIXED_BYTES > length) return 'formerr';
      const end = fixedAt + RECORD_FIXED_BYTES + readUint16(bytes, fixedAt + 8);
      if (end > length) return 'formerr';
      if (readUint16(bytes, fixedAt) === TYPE.OPT) {
        if (this.hasEdns || i < firstAdditional || bytes[at] !== 0) return 'formerr';
        this.hasEdns = true;
        this.isDnssecOk = (bytes[fixedAt + 6]! & 0x80) !== 0;
        version = bytes[fixedAt + 5]!;
        const optionsAt = fixedAt + RECORD_FIXED_BYTES;
        this.asksZoneVersion = isZoneVersionRequest(bytes, optionsAt, end);
        this.knowsClusterVersion =
          this.asksZoneVersion && isClusterVersionRequest(bytes, optionsAt, end);
        hasBadCookie = !this.#findCookie(fixedAt + RECORD_FIXED_BYTES, end);
        if (!this.isOverTcp) {
          const asked = readUint16(bytes, fixedAt + 2);
          this.maxAnswerBytes = Math.max(CLASSIC_UDP_BYTES, Math.min(asked, maxUdpBytes));
        }
      } else this.hasOtherRecords = true;
      at = end;
    }
    if (this.cookieAt > 0) this.maxAnswerBytes -= COOKIE_OPTION_BYTES;
    if (version !== 0) return 'badvers';
    return hasBadCookie ? 'badoption' : 'answer';
  }

  /** Finds the cookie among the options; false when its length is wrong. */
  #findCookie(optionsAt: number, end: number): boolean {
    const at = findOption(this.bytes, optionsAt, end, EDNS_OPTION.COOKIE);
    if (at < 0) return true;
    const length = readUint16(this.bytes, at + 2);
    if (!isCookieLength(length)) return false;
    this.cookieAt = at + OPTION_HEAD_BYTES;
    this.cookieBytes = length;
    return true;
  }
}

/** So many questions, and no more records than a query needs (as miekg/dns DefaultMsgAcceptFunc). */
function hasPlausibleCounts(bytes: Uint8Array, questions: number): boolean {
  return (
    readUint16(bytes, 4) === questions &&
    readUint16(bytes, 6) <= MAX_ANSWERS &&
    readUint16(bytes, 8) <= MAX_AUTHORITIES &&
    readUint16(bytes, 10) <= MAX_ADDITIONALS
  );
}

/** A query that stays valid when the listener reads the next message. */
export function copyQuery(query: Query): Query {
  const copy = new Query();
  // Not slice(): of a Buffer that is a view.
  const bytes = new Uint8Array(query.bytes.subarray(0, query.length));
  copy.read(bytes, bytes.length, query.isOverTcp, query.maxUdpBytes);
  return copy;
}

/** The query in the bytes of a message, which must be one that a listener answers; throws a WireError otherwise. */
export function readQuery(message: Uint8Array, isOverTcp = false): Query {
  const query = new Query();
  const verdict = query.read(message, message.length, isOverTcp, MAX_MESSAGE_BYTES);
  if (verdict !== 'answer') throw new WireError('bad-message', `the query is ${verdict}`);
  return query;
}
