import { readUint16, writeUint16 } from './bytes.js';
import { EDNS_OPTION, extendedErrorOption, NO_EDNS_OPTIONS, OPT_BYTES } from './opt-record.js';
import { TYPE } from './protocol.js';
import { type RecordCursor, SECTION } from './record-cursor.js';

/** Says that a reason is a server's; its own text follows. */
const MARK = 'upstream';
/** The Extended DNS Errors of one reply that are kept, each of 46 bytes at most. */
const MAX_REASONS = 2;
/** Code and length of an option, and the code of the error. */
const OPTION_HEAD_BYTES = 4;
const CODE_BYTES = 2;

/**
 * A server's reply whose Extended DNS Errors (RFC 8914) say that they are the server's: a copy, or the reply itself when
 * it has none, or is signed. The cursor is the caller's.
 */
export function markReasons(reply: Buffer, cursor: RecordCursor): Buffer {
  if (!findOpt(reply, cursor)) return reply;
  const { rdataStart, end } = cursor;
  const options: Uint8Array[] = [];
  let reasons = 0;
  for (let at = rdataStart; at + OPTION_HEAD_BYTES <= end;) {
    const next = at + OPTION_HEAD_BYTES + readUint16(reply, at + 2);
    if (next > end) return reply;
    const isReason =
      readUint16(reply, at) === EDNS_OPTION.EXTENDED_ERROR &&
      next >= at + OPTION_HEAD_BYTES + CODE_BYTES;
    if (!isReason) options.push(reply.subarray(at, next));
    else if (reasons++ < MAX_REASONS) options.push(marked(reply.subarray(at, next)));
    at = next;
  }
  if (reasons === 0) return reply;
  const data = Buffer.concat(options);
  const changed = Buffer.concat([reply.subarray(0, rdataStart), data, reply.subarray(end)]);
  writeUint16(changed, rdataStart - 2, data.length);
  return changed;
}

/** The Extended DNS Errors of a message, as options; empty when it has none. The cursor is the caller's. */
export function reasonsOf(message: Uint8Array, cursor: RecordCursor): Uint8Array {
  if (!findOpt(message, cursor)) return NO_EDNS_OPTIONS;
  const { rdataStart, end } = cursor;
  const reasons: Uint8Array[] = [];
  for (let at = rdataStart; at + OPTION_HEAD_BYTES <= end;) {
    const next = at + OPTION_HEAD_BYTES + readUint16(message, at + 2);
    const isReason = readUint16(message, at) === EDNS_OPTION.EXTENDED_ERROR && next <= end;
    if (isReason && reasons.length < MAX_REASONS) reasons.push(message.subarray(at, next));
    at = next;
  }
  return reasons.length === 0 ? NO_EDNS_OPTIONS : Buffer.concat(reasons);
}

/** The same option, with a text that says so. */
function marked(option: Uint8Array): Uint8Array {
  const at = OPTION_HEAD_BYTES + CODE_BYTES;
  const text = Buffer.from(option.subarray(at)).toString();
  const isMarked = text.startsWith(MARK);
  const own = text === '' ? MARK : `${MARK}: ${text}`;
  return extendedErrorOption(readUint16(option, OPTION_HEAD_BYTES), isMarked ? text : own);
}

/** Moves a cursor to the OPT record with options of a message that is not signed; false when there is none. */
function findOpt(message: Uint8Array, cursor: RecordCursor): boolean {
  if (isBareOpt(message, message.length - OPT_BYTES)) return false;
  let optAt = -1;
  cursor.reset(message, message.length);
  while (cursor.next()) {
    if (cursor.section !== SECTION.ADDITIONAL) continue;
    if (cursor.type === TYPE.SIG || cursor.type === TYPE.TSIG) return false;
    if (cursor.type === TYPE.OPT && cursor.rdataStart < cursor.end) optAt = cursor.start;
  }
  if (optAt < 0 || cursor.isMalformed()) return false;
  cursor.reset(message, message.length);
  while (cursor.next() && (cursor.section !== SECTION.ADDITIONAL || cursor.start !== optAt)) {
    // Continue with the OPT record.
  }
  return true;
}

/** Whether the message ends with an OPT record without options, as most do. */
function isBareOpt(message: Uint8Array, at: number): boolean {
  const isOpt = at > 0 && message[at] === 0 && readUint16(message, at + 1) === TYPE.OPT;
  return isOpt && readUint16(message, at + OPT_BYTES - 2) === 0;
}
