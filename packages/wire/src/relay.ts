import { readUint16, writeUint16 } from './bytes.js';
import { lowerCaseByte } from './name.js';
import { appendOpt, type EdnsTarget, OPT_BYTES } from './opt-record.js';
import { FLAG, HEADER_BYTES, QUESTION_FIXED_BYTES, QUESTION_OFFSET, TYPE } from './protocol.js';
import type { Query } from './query.js';
import { type RecordCursor, SECTION } from './record-cursor.js';

/** What an adapted reply needs from the client's query; a copy, because the query is overwritten by then. */
export interface RelayTarget extends EdnsTarget {
  readonly id: number;
  readonly flags: number;
  /** The question as the client wrote it, from the name to the class. */
  readonly question: Uint8Array;
  /** AD stays as the server set it. */
  readonly passesAd: boolean;
}

/** Copies what a later answer needs from a query that is about to be overwritten. */
export function relayTargetOf(query: Query, passesAd = false): RelayTarget {
  return {
    id: query.id,
    flags: query.flags,
    question: new Uint8Array(query.bytes.subarray(QUESTION_OFFSET, query.questionEnd)),
    hasEdns: query.hasEdns,
    isDnssecOk: query.isDnssecOk,
    maxUdpBytes: query.maxUdpBytes,
    passesAd,
  };
}

/** A response without records: the question, an rcode below 16, and OPT, DO as asked, for a client with EDNS. */
export function encodeRefusal(target: RelayTarget, rcode: number): Uint8Array {
  const questionEnd = QUESTION_OFFSET + target.question.length;
  const message = new Uint8Array(questionEnd + (target.hasEdns ? OPT_BYTES : 0));
  writeUint16(message, 0, target.id);
  writeUint16(message, 2, FLAG.QR | FLAG.RA | (target.flags & (FLAG.RD | FLAG.CD)) | rcode);
  writeUint16(message, 4, 1);
  message.set(target.question, QUESTION_OFFSET);
  appendOpt(target, message, questionEnd, rcode);
  return message;
}

/**
 * Turns an upstream's reply into the client's, in place, and returns its length: the client's ID and
 * spelling of the name, RA set, AD cleared because nothing was validated here, no larger size in OPT
 * than this server's own, no OPT for a client that sent none (RFC 6891 section 7), and nothing after the
 * last record (dnsmasq src/rfc1035.c, resize_packet). Returns -1 when the reply is malformed or is not
 * about that question. The cursor is the caller's.
 */
export function adaptReply(reply: Uint8Array, target: RelayTarget, cursor: RecordCursor): number {
  cursor.reset(reply, reply.length);
  const isBare = cursor.end === HEADER_BYTES;
  if (cursor.isMalformed()) return -1;
  if (!isBare && !isQuestion(reply, cursor.end, target.question)) return -1;
  let opt = -1;
  let sizeAt = -1;
  let additionals = 0;
  while (cursor.next()) {
    if (cursor.section !== SECTION.ADDITIONAL || opt >= 0) continue;
    if (cursor.type === TYPE.OPT) {
      opt = cursor.start;
      sizeAt = cursor.typeAt + 2;
    } else additionals++;
  }
  if (cursor.isMalformed()) return -1;
  if (!isBare) reply.set(target.question, QUESTION_OFFSET);
  const fromClient = FLAG.RD | FLAG.CD;
  const cleared = target.passesAd ? fromClient : fromClient | FLAG.AD;
  const flags = readUint16(reply, 2) & ~cleared;
  writeUint16(reply, 0, target.id);
  writeUint16(reply, 2, flags | (target.flags & fromClient) | FLAG.RA);
  if (opt < 0) return cursor.end;
  if (target.hasEdns) {
    // The size that we accept, not that of the upstream server.
    if (readUint16(reply, sizeAt) > target.maxUdpBytes)
      writeUint16(reply, sizeAt, target.maxUdpBytes);
    return cursor.end;
  }
  writeUint16(reply, 10, additionals);
  return opt;
}

/** Whether the reply's only question, which ends at `end`, is this one but for the name's case. */
function isQuestion(reply: Uint8Array, end: number, question: Uint8Array): boolean {
  if (readUint16(reply, 4) !== 1 || end - QUESTION_OFFSET !== question.length) return false;
  const nameBytes = question.length - QUESTION_FIXED_BYTES;
  for (let i = 0; i < question.length; i++) {
    const left = reply[QUESTION_OFFSET + i]!;
    const right = question[i]!;
    if (left !== right && (i >= nameBytes || lowerCaseByte(left) !== lowerCaseByte(right))) {
      return false;
    }
  }
  return true;
}
