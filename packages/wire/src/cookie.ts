import { readUint16, writeUint16 } from './bytes.js';
import { OPTION_HEAD_BYTES } from './opt-record.js';
import { TYPE } from './protocol.js';
import type { RecordCursor } from './record-cursor.js';

/** Bytes of a client cookie (RFC 7873 section 4), and of our server cookies (RFC 9018 section 4). */
export const CLIENT_COOKIE_BYTES = 8;
export const SERVER_COOKIE_BYTES = 16;
/** The lengths that a server cookie may have (RFC 7873 section 4). */
const MIN_SERVER_COOKIE_BYTES = 8;
const MAX_SERVER_COOKIE_BYTES = 32;
/** The COOKIE option of an answer of ours. */
export const COOKIE_OPTION_BYTES = OPTION_HEAD_BYTES + CLIENT_COOKIE_BYTES + SERVER_COOKIE_BYTES;

/** Whether the data of a COOKIE option may have this length: with or without a server cookie (RFC 7873 section 5.2.2). */
export function isCookieLength(bytes: number): boolean {
  const serverBytes = bytes - CLIENT_COOKIE_BYTES;
  if (serverBytes === 0) return true;
  return serverBytes >= MIN_SERVER_COOKIE_BYTES && serverBytes <= MAX_SERVER_COOKIE_BYTES;
}

/** Where an option with this code starts in the data of an OPT record, from `at` to `end`, the first if there are several; else -1. */
export function findOption(bytes: Uint8Array, at: number, end: number, code: number): number {
  while (at + OPTION_HEAD_BYTES <= end) {
    const next = at + OPTION_HEAD_BYTES + readUint16(bytes, at + 2);
    if (next > end) return -1;
    if (readUint16(bytes, at) === code) return at;
    at = next;
  }
  return -1;
}

/**
 * Appends an option to the OPT record of a message and returns the new length. The same length when OPT is not the last
 * record: there is none, or the message is signed. The caller has room for it. The cursor is the caller's.
 */
export function appendOption(
  message: Uint8Array,
  length: number,
  option: Uint8Array,
  cursor: RecordCursor,
): number {
  cursor.reset(message, length);
  let isOpt = false;
  while (cursor.next()) isOpt = cursor.type === TYPE.OPT;
  if (!isOpt || cursor.isMalformed() || cursor.end !== length) return length;
  const lengthAt = cursor.rdataStart - 2;
  writeUint16(message, lengthAt, readUint16(message, lengthAt) + option.length);
  for (let i = 0; i < option.length; i++) message[length + i] = option[i]!;
  return length + option.length;
}
