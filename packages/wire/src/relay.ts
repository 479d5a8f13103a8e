import { copyStart, readUint16, writeUint16 } from './bytes.js';
import {
  appendOpt,
  EDNS_OPTION,
  type EdnsTarget,
  NO_EDNS_OPTIONS,
  OPT_BYTES,
  retainOptions,
} from './opt-record.js';
import { FLAG, HEADER_BYTES, QUESTION_OFFSET, RCODE, RCODE_MASK } from './protocol.js';
import type { Query } from './query.js';
import { isSameQuestion } from './question.js';
import type { ReplyOutline } from './reply-outline.js';

const NO_MESSAGE = new Uint8Array(0);

/** What an adapted reply needs from the client's query, which is overwritten by then. */
export interface RelayTarget extends EdnsTarget {
  id: number;
  flags: number;
  /** A message with the question as the client wrote it, which ends at `questionEnd`. */
  message: Uint8Array;
  questionEnd: number;
  hasEdns: boolean;
  isDnssecOk: boolean;
  maxUdpBytes: number;
  /** AD stays as the server set it. */
  passesAd: boolean;
  /** The client gets the server's Client Subnet option: its own was sent. */
  passesSubnet: boolean;
}

/** One of no query. */
export function emptyRelayTarget(): RelayTarget {
  return {
    id: 0,
    flags: 0,
    message: NO_MESSAGE,
    questionEnd: 0,
    hasEdns: false,
    isDnssecOk: false,
    maxUdpBytes: 0,
    passesAd: false,
    passesSubnet: false,
  };
}

/**
 * What a later answer needs from a query that is about to be overwritten, in `target`, which may be an earlier one's. `asked`
 * is a message that stays: if its question has the same bytes, that is not copied.
 */
export function relayTargetOf(
  query: Query,
  passesAd = false,
  passesSubnet = false,
  asked: Uint8Array = NO_MESSAGE,
  target = emptyRelayTarget(),
): RelayTarget {
  const { bytes, questionEnd } = query;
  const isSame = hasQuestion(asked, bytes, questionEnd);
  target.id = query.id;
  target.flags = query.flags;
  // Not slice(): of a Buffer that is a view.
  target.message = isSame ? asked : new Uint8Array(bytes.subarray(0, questionEnd));
  target.questionEnd = questionEnd;
  target.hasEdns = query.hasEdns;
  target.isDnssecOk = query.isDnssecOk;
  target.maxUdpBytes = query.maxUdpBytes;
  target.passesAd = passesAd;
  target.passesSubnet = passesSubnet;
  return target;
}

/**
 * A response without records: the question, an rcode below 16, and for a client with EDNS an OPT, DO as
 * asked, with encoded options.
 */
export function encodeRefusal(
  target: RelayTarget,
  rcode: number,
  options = NO_EDNS_OPTIONS,
): Uint8Array {
  const { questionEnd } = target;
  const message = new Uint8Array(questionEnd + OPT_BYTES + options.length);
  writeUint16(message, 0, target.id);
  writeUint16(message, 2, FLAG.QR | FLAG.RA | (target.flags & (FLAG.RD | FLAG.CD)) | rcode);
  writeUint16(message, 4, 1);
  copyQuestion(target, message);
  return message.subarray(0, appendOpt(target, message, questionEnd, rcode, options));
}

/**
 * Writes an upstream's reply as the client's into `out` (64 KiB) and returns its length: the client's ID and spelling
 * of the name, RA set, AD cleared because nothing was validated here, and nothing after the last record (dnsmasq
 * src/rfc1035.c, resize_packet). OPT is hop by hop (RFC 6891 section 6.1.1): a client with EDNS gets one of
 * ours, which retains the server's Extended DNS Errors, and the subnet if the client sent one. -1 when the reply is
 * malformed or is not about that question. `reason`, an option, is added to SERVFAIL and REFUSED that have no Extended
 * DNS Error. `outline` is the reply's.
 */
export function adaptReply(
  reply: Uint8Array,
  target: RelayTarget,
  outline: ReplyOutline,
  out: Uint8Array,
  reason = NO_EDNS_OPTIONS,
): number {
  const { questionEnd, optAt, isSigned } = outline;
  if (outline.isMalformed) return -1;
  const isBare = questionEnd === HEADER_BYTES;
  if (!isBare && !isQuestion(reply, questionEnd, target)) return -1;
  // A signature covers the OPT record, too.
  const end = optAt < 0 || isSigned ? outline.end : optAt;
  copyStart(reply, end, out);
  if (!isBare) copyQuestion(target, out);
  const fromClient = FLAG.RD | FLAG.CD;
  const cleared = target.passesAd ? fromClient : fromClient | FLAG.AD;
  const flags = readUint16(reply, 2) & ~cleared;
  writeUint16(out, 0, target.id);
  writeUint16(out, 2, flags | (target.flags & fromClient) | FLAG.RA);
  if (isSigned) return end;
  // Additional records after OPT are left out.
  if (optAt >= 0) writeUint16(out, 10, outline.additionals);
  let options = target.hasEdns ? retainedOptions(reply, outline, target) : NO_EDNS_OPTIONS;
  if (reason.length > 0 && isRefusal(flags) && !hasExtendedError(options)) {
    options = Buffer.concat([options, reason]);
  }
  const isRoom = end + OPT_BYTES + options.length <= out.length;
  return appendOpt(target, out, end, outline.upperRcode << 4, isRoom ? options : NO_EDNS_OPTIONS);
}

function isRefusal(flags: number): boolean {
  const rcode = flags & RCODE_MASK;
  return rcode === RCODE.SERVFAIL || rcode === RCODE.REFUSED;
}

function hasExtendedError(options: Uint8Array): boolean {
  for (let at = 0; at + 4 <= options.length; at += 4 + readUint16(options, at + 2)) {
    if (readUint16(options, at) === EDNS_OPTION.EXTENDED_ERROR) return true;
  }
  return false;
}

/** A copy of the options of a server's OPT record that the client gets. */
function retainedOptions(
  reply: Uint8Array,
  { hasOptions, optionsAt, optionsEnd }: ReplyOutline,
  { passesSubnet }: RelayTarget,
): Uint8Array {
  if (!hasOptions) return NO_EDNS_OPTIONS;
  const options = new Uint8Array(reply.subarray(optionsAt, optionsEnd));
  const length = retainOptions(options, (code) => {
    return code === EDNS_OPTION.EXTENDED_ERROR || (passesSubnet && code === EDNS_OPTION.SUBNET);
  });
  return options.subarray(0, length);
}

function copyQuestion({ message, questionEnd }: RelayTarget, out: Uint8Array): void {
  for (let i = QUESTION_OFFSET; i < questionEnd; i++) out[i] = message[i]!;
}

/** Whether two messages have the same bytes from the question on, up to its end. */
function hasQuestion(one: Uint8Array, other: Uint8Array, questionEnd: number): boolean {
  if (one.length < questionEnd) return false;
  for (let i = QUESTION_OFFSET; i < questionEnd; i++) if (one[i] !== other[i]) return false;
  return true;
}

/** Whether the reply's only question, which ends at `end`, is the client's but for the name's case. */
function isQuestion(
  reply: Uint8Array,
  end: number,
  { message, questionEnd }: RelayTarget,
): boolean {
  if (readUint16(reply, 4) !== 1 || end !== questionEnd) return false;
  const length = questionEnd - QUESTION_OFFSET;
  return isSameQuestion(reply, QUESTION_OFFSET, message, QUESTION_OFFSET, length);
}
