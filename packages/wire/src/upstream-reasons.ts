import { readUint16, writeUint16 } from './bytes.js';
import {
  EDNS_OPTION,
  EXTENDED_ERROR_HEAD_BYTES,
  extendedErrorOption,
  MAX_EXTENDED_ERROR_TEXT_BYTES,
  NO_EDNS_OPTIONS,
  OPTION_HEAD_BYTES,
} from './opt-record.js';
import type { ReplyOutline } from './reply-outline.js';

/** Says that a reason is a server's; its own text follows. */
const MARK = 'upstream';
/** The Extended DNS Errors of one reply that are kept, each of 46 bytes at most. */
const MAX_REASONS = 2;
/** The bytes of a server's text that are read: a character at the end may be cut. */
const MAX_READ_BYTES = MAX_EXTENDED_ERROR_TEXT_BYTES + 4;
/** What a terminal must not get; U+FFFD stands for what is not UTF-8. */
const UNREADABLE = /[\p{Cc}\uFFFD]/gu;
/** A text may end with it (RFC 8914 section 2). */
const FINAL_NUL = /\0$/;

/**
 * A server's reply whose Extended DNS Errors (RFC 8914) say that they are the server's, two at most, in texts that can
 * be read: a copy, or the reply itself when it has none, or is signed. The outline is the reply's.
 */
export function markReasons(reply: Buffer, outline: ReplyOutline): Buffer {
  const data = optionsOf(reply, outline);
  if (data === undefined) return reply;
  const options = splitOptions(data);
  const reasons = options.filter(isReason);
  if (reasons.length === 0) return reply;
  const others = options.filter((option) => !isReason(option));
  const readable = reasons.filter(isWhole).slice(0, MAX_REASONS).map(marked);
  const start = data.byteOffset - reply.byteOffset;
  const kept = Buffer.concat([...others, ...readable]);
  const rest = reply.subarray(start + data.length);
  const changed = Buffer.concat([reply.subarray(0, start), kept, rest]);
  writeUint16(changed, start - 2, kept.length);
  return changed;
}

/** The Extended DNS Errors of a message, as options; empty when it has none. The outline is the message's. */
export function reasonsOf(message: Uint8Array, outline: ReplyOutline): Uint8Array {
  const data = optionsOf(message, outline);
  if (data === undefined) return NO_EDNS_OPTIONS;
  const reasons = splitOptions(data).filter((option) => isReason(option) && isWhole(option));
  return reasons.length === 0 ? NO_EDNS_OPTIONS : Buffer.concat(reasons);
}

/** The options of an OPT record's data, up to one that does not fit. */
function splitOptions(data: Uint8Array): Uint8Array[] {
  const options: Uint8Array[] = [];
  for (let at = 0; at + OPTION_HEAD_BYTES <= data.length;) {
    const next = at + OPTION_HEAD_BYTES + readUint16(data, at + 2);
    if (next > data.length) break;
    options.push(data.subarray(at, next));
    at = next;
  }
  return options;
}

function isReason(option: Uint8Array): boolean {
  return readUint16(option, 0) === EDNS_OPTION.EXTENDED_ERROR;
}

/** Whether an Extended DNS Error has a code. */
function isWhole(option: Uint8Array): boolean {
  return option.length >= EXTENDED_ERROR_HEAD_BYTES;
}

/** The same option, with a text that says so. */
function marked(option: Uint8Array): Uint8Array {
  const bytes = option.subarray(EXTENDED_ERROR_HEAD_BYTES).subarray(0, MAX_READ_BYTES);
  const text = Buffer.from(bytes).toString().replace(FINAL_NUL, '').replace(UNREADABLE, '?');
  const isMarked = text.startsWith(MARK);
  const own = text === '' ? MARK : `${MARK}: ${text}`;
  return extendedErrorOption(readUint16(option, OPTION_HEAD_BYTES), isMarked ? text : own);
}

/** The options of a message with this outline; undefined when it has none, is signed or malformed. */
function optionsOf(message: Uint8Array, outline: ReplyOutline): Uint8Array | undefined {
  if (!outline.hasOptions || outline.isSigned || outline.isMalformed) return undefined;
  return message.subarray(outline.optionsAt, outline.optionsEnd);
}
