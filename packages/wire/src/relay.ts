import { readUint16, writeUint16 } from './bytes.js';
import {
  appendOpt,
  EDNS_OPTION,
  type EdnsTarget,
  OPT_BYTES,
  optBytesFor,
  retainOptions,
} from './opt-record.js';
import { FLAG, HEADER_BYTES, QUESTION_OFFSET, TYPE } from './protocol.js';
import type { Query } from './query.js';
import { isSameQuestion } from './question.js';
import { type RecordCursor, SECTION } from './record-cursor.js';

const NO_OPTIONS = new Uint8Array(0);

/** What an adapted reply needs from the client's query; a copy, because the query is overwritten by then. */
export interface RelayTarget extends EdnsTarget {
  readonly id: number;
  readonly flags: number;
  /** The question as the client wrote it, from the name to the class. */
  readonly question: Uint8Array;
  /** AD stays as the server set it. */
  readonly passesAd: boolean;
  /** The client gets the server's Client Subnet option: its own was sent. */
  readonly passesSubnet: boolean;
}

/** Copies what a later answer needs from a query that is about to be overwritten. */
export function relayTargetOf(query: Query, passesAd = false, passesSubnet = false): RelayTarget {
  return {
    id: query.id,
    flags: query.flags,
    question: new Uint8Array(query.bytes.subarray(QUESTION_OFFSET, query.questionEnd)),
    hasEdns: query.hasEdns,
    isDnssecOk: query.isDnssecOk,
    maxUdpBytes: query.maxUdpBytes,
    passesAd,
    passesSubnet,
  };
}

/**
 * A response without records: the question, an rcode below 16, and for a client with EDNS an OPT, DO as
 * asked, with an Extended DNS Error unless that is negative, and its text.
 */
export function encodeRefusal(
  target: RelayTarget,
  rcode: number,
  extendedError = -1,
  text = '',
): Uint8Array {
  const questionEnd = QUESTION_OFFSET + target.question.length;
  const message = Buffer.alloc(questionEnd + optBytesFor(target) + text.length);
  writeUint16(message, 0, target.id);
  writeUint16(message, 2, FLAG.QR | FLAG.RA | (target.flags & (FLAG.RD | FLAG.CD)) | rcode);
  writeUint16(message, 4, 1);
  message.set(target.question, QUESTION_OFFSET);
  const end = appendOpt(target, message, questionEnd, rcode, extendedError);
  if (!target.hasEdns || extendedError < 0) return message.subarray(0, end);
  // The text is the end of the option, which is the end of the record (RFC 8914 section 2).
  const written = message.write(text, end, 'latin1');
  const lengthAt = questionEnd + OPT_BYTES - 2;
  writeUint16(message, lengthAt, readUint16(message, lengthAt) + written);
  writeUint16(message, lengthAt + 4, readUint16(message, lengthAt + 4) + written);
  return message;
}

/**
 * Turns an upstream's reply into the client's and returns it, in the same bytes unless they lack the room for an
 * OPT: the client's ID and spelling of the name, RA set, AD cleared because nothing was validated here, and
 * nothing after the last record (dnsmasq src/rfc1035.c, resize_packet). OPT is hop by hop (RFC 6891
 * section 6.1.1): a client with EDNS gets one of ours, which retains the server's Extended DNS Errors, and the
 * subnet if the client sent one. Undefined when the reply is malformed or is not about that question. The
 * cursor is the caller's.
 */
export function adaptReply(
  reply: Uint8Array,
  target: RelayTarget,
  cursor: RecordCursor,
): Uint8Array | undefined {
  cursor.reset(reply, reply.length);
  const isBare = cursor.end === HEADER_BYTES;
  if (cursor.isMalformed()) return undefined;
  if (!isBare && !isQuestion(reply, cursor.end, target.question)) return undefined;
  /** Where the OPT record starts, or would; additional records after it are left out. */
  let optAt = -1;
  let additionals = 0;
  let upperRcode = 0;
  let options: Uint8Array = NO_OPTIONS;
  let isSigned = false;
  while (cursor.next()) {
    if (cursor.section !== SECTION.ADDITIONAL) continue;
    isSigned ||= cursor.type === TYPE.SIG || cursor.type === TYPE.TSIG;
    if (cursor.type === TYPE.OPT && optAt < 0) {
      optAt = cursor.start;
      upperRcode = reply[cursor.ttlAt]!;
      options = retainedOptions(reply.subarray(cursor.rdataStart, cursor.end), target);
    } else if (optAt < 0) additionals++;
  }
  if (cursor.isMalformed()) return undefined;
  if (!isBare) reply.set(target.question, QUESTION_OFFSET);
  const fromClient = FLAG.RD | FLAG.CD;
  const cleared = target.passesAd ? fromClient : fromClient | FLAG.AD;
  const flags = readUint16(reply, 2) & ~cleared;
  writeUint16(reply, 0, target.id);
  writeUint16(reply, 2, flags | (target.flags & fromClient) | FLAG.RA);
  // A signature covers the OPT record, too.
  if (isSigned) return reply.subarray(0, cursor.end);
  if (optAt >= 0) writeUint16(reply, 10, additionals);
  const end = optAt < 0 ? cursor.end : optAt;
  return target.hasEdns ? withOpt(reply, end, upperRcode, options, target) : reply.subarray(0, end);
}

/** A message up to `end` with our OPT record after it; a copy when there is no room. */
function withOpt(
  message: Uint8Array,
  end: number,
  upperRcode: number,
  options: Uint8Array,
  target: RelayTarget,
): Uint8Array {
  const optionsAt = end + OPT_BYTES;
  const length = optionsAt + options.length;
  let out = message;
  if (length > message.length) {
    out = new Uint8Array(length);
    out.set(message.subarray(0, end));
  }
  appendOpt(target, out, end, upperRcode << 4);
  writeUint16(out, optionsAt - 2, options.length);
  out.set(options, optionsAt);
  return out.subarray(0, length);
}

/** A copy of the options of a server's OPT record that the client gets. */
function retainedOptions(options: Uint8Array, { passesSubnet }: RelayTarget): Uint8Array {
  if (options.length === 0) return NO_OPTIONS;
  const copy = new Uint8Array(options);
  const end = retainOptions(copy, (code) => {
    return code === EDNS_OPTION.EXTENDED_ERROR || (passesSubnet && code === EDNS_OPTION.SUBNET);
  });
  return copy.subarray(0, end);
}

/** Whether the reply's only question, which ends at `end`, is this one but for the name's case. */
function isQuestion(reply: Uint8Array, end: number, question: Uint8Array): boolean {
  const { length } = question;
  if (readUint16(reply, 4) !== 1 || end - QUESTION_OFFSET !== length) return false;
  return isSameQuestion(reply, QUESTION_OFFSET, question, 0, length);
}
