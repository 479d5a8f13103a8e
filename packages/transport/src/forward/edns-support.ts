import {
  HEADER_BYTES,
  OPT_BYTES,
  QUESTION_FIXED_BYTES,
  RCODE,
  readUint16,
  RecordCursor,
  skipName,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';
import { rcodeOf } from './reply-flaw.js';

/** A server that does not know EDNS is sent queries without it for this long; it may be replaced by a newer one. */
const FORGET_MS = 900_000;
/** The same after this many questions, one after the other, that had no reply but without EDNS: a firewall may drop it. */
const MAX_SILENCES = 3;
const FORGET_SILENCE_MS = 300_000;
/** The upper bits of the extended rcode 16. */
const BADVERS_HIGH = 1;
const DNSSEC_OK_BYTE = 0x80;
const cursor = new RecordCursor();

/** A query that had a reply. */
export interface RepliedQuery {
  /** As it was sent last. */
  readonly query: Buffer;
  readonly sentAtMs: number;
  /** There was no reply until it was sent again without its OPT record. */
  readonly isPlainAgain: boolean;
}

/** Whether a server knows EDNS. It counts as one that does until it shows otherwise (RFC 6891 section 7). */
export class EdnsSupport {
  #unknownUntilMs = Number.NEGATIVE_INFINITY;
  #silentUntilMs = Number.NEGATIVE_INFINITY;
  #silences = 0;
  #silenceAtMs = Number.NEGATIVE_INFINITY;

  /** The query as this server takes it: without its OPT record if the server does not know that. */
  fit(query: Buffer, nowMs: number): Buffer {
    if (nowMs < this.#unknownUntilMs) return withoutOpt(query);
    return nowMs < this.#silentUntilMs ? withoutPlainOpt(query) : query;
  }

  /** Learns from a reply whether the server is silent to queries with EDNS. */
  noteReply({ query, sentAtMs, isPlainAgain }: RepliedQuery, reply: Uint8Array, nowMs: number) {
    if (isPlainAgain && !hasOpt(reply)) {
      // Questions of the same time tell no more than one: the server may just have been away.
      if (sentAtMs <= this.#silenceAtMs) return;
      this.#silenceAtMs = nowMs;
      if (++this.#silences >= MAX_SILENCES) this.#silentUntilMs = nowMs + FORGET_SILENCE_MS;
    } else if (this.#silences > 0 && (isPlainAgain || withoutOpt(query) !== query)) {
      this.#silences = 0;
      this.#silentUntilMs = Number.NEGATIVE_INFINITY;
    }
  }

  /** Whether the reply shows that the server does not know EDNS, so that the query is to be sent without it. */
  isRefused(query: Buffer, reply: Uint8Array, nowMs: number): boolean {
    const rcode = rcodeOf(reply);
    const isRefusal = rcode === RCODE.FORMERR || rcode === RCODE.NOTIMP;
    // A server that knows EDNS has an OPT record in its reply.
    const isUnknown = isRefusal && readUint16(reply, 10) === 0;
    if (!isUnknown && !isBadVersion(reply)) return false;
    if (withoutOpt(query) === query) return false;
    this.#unknownUntilMs = nowMs + FORGET_MS;
    return true;
  }
}

/** Whether a reply has nothing but an OPT record with BADVERS (RFC 6891 section 9), to version 0, too. */
function isBadVersion(reply: Uint8Array): boolean {
  const hasOneRecord = readUint16(reply, 6) + readUint16(reply, 8) === 0 && reply[11] === 1;
  if (!hasOneRecord || rcodeOf(reply) !== RCODE.NOERROR) return false;
  const optAt = skipName(reply, HEADER_BYTES, reply.length) + QUESTION_FIXED_BYTES;
  const isOpt = reply[optAt] === 0 && readUint16(reply, optAt + 1) === TYPE.OPT;
  return isOpt && reply[optAt + 5] === BADVERS_HIGH;
}

function hasOpt(message: Uint8Array): boolean {
  cursor.reset(message, message.length);
  while (cursor.next()) if (cursor.type === TYPE.OPT) return true;
  return false;
}

/** A copy of a query without an OPT record that asks for nothing: no DNSSEC, no option; else the query itself. */
export function withoutPlainOpt(query: Buffer): Buffer {
  const plain = withoutOpt(query);
  const isForSize = query.length === plain.length + OPT_BYTES;
  return isForSize && (query[plain.length + 7]! & DNSSEC_OK_BYTE) === 0 ? plain : query;
}

/** A copy of a query without its OPT record; the query itself if it has no such record, or others beside it. */
function withoutOpt(query: Buffer): Buffer {
  const optAt = skipName(query, HEADER_BYTES, query.length) + QUESTION_FIXED_BYTES;
  const isAlone = readUint16(query, 6) + readUint16(query, 8) === 0 && readUint16(query, 10) === 1;
  if (!isAlone || query.length < optAt + OPT_BYTES) return query;
  if (query[optAt] !== 0 || readUint16(query, optAt + 1) !== TYPE.OPT) return query;
  const plain = Buffer.from(query.subarray(0, optAt));
  writeUint16(plain, 10, 0);
  return plain;
}
