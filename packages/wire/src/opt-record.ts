import { readUint16, writeUint16 } from './bytes.js';
import { TYPE } from './protocol.js';
import type { RecordCursor } from './record-cursor.js';

/** What an OPT record in an answer needs from the query: see Query. */
export interface EdnsTarget {
  readonly hasEdns: boolean;
  readonly isDnssecOk: boolean;
  readonly maxUdpBytes: number;
}

/** The bytes that an OPT record without options takes (RFC 6891 section 6.1.2). */
export const OPT_BYTES = 11;
/** No options of an OPT record. */
export const NO_EDNS_OPTIONS: Uint8Array = new Uint8Array(0);
/** The bytes of an Extended DNS Error option before its text (RFC 8914 section 2). */
export const EXTENDED_ERROR_HEAD_BYTES = 6;
/** The most bytes of such a text: it must not take the place of records. */
export const MAX_EXTENDED_ERROR_TEXT_BYTES = 40;
/** EDNS option codes (RFC 7828 section 3.1, RFC 7830 section 3, RFC 7871 section 6, RFC 7873 section 4, RFC 8914 section 2, RFC 9660 section 2). */
export const EDNS_OPTION = {
  SUBNET: 8,
  COOKIE: 10,
  TCP_KEEPALIVE: 11,
  PADDING: 12,
  EXTENDED_ERROR: 15,
  ZONE_VERSION: 19,
  /** Of local use (RFC 6891 section 9): the client knows versions of the cluster. */
  CLUSTER_VERSION: 65_247,
} as const;
/** Code and length of an option. */
export const OPTION_HEAD_BYTES = 4;
const encoder = new TextEncoder();

/** An Extended DNS Error as an option (RFC 8914 section 2), with the whole characters in the first 40 bytes of a text. */
export function extendedErrorOption(code: number, text = ''): Uint8Array {
  const option = new Uint8Array(EXTENDED_ERROR_HEAD_BYTES + MAX_EXTENDED_ERROR_TEXT_BYTES);
  const { written } = encoder.encodeInto(text, option.subarray(EXTENDED_ERROR_HEAD_BYTES));
  writeUint16(option, 0, EDNS_OPTION.EXTENDED_ERROR);
  writeUint16(option, 2, EXTENDED_ERROR_HEAD_BYTES - OPTION_HEAD_BYTES + written);
  writeUint16(option, 4, code);
  return option.slice(0, EXTENDED_ERROR_HEAD_BYTES + written);
}

/**
 * Appends the OPT record that a client with EDNS gets (RFC 6891 section 6.1.1) to a whole message of
 * `length` bytes, counts it in the header, and returns the new length: the upper bits of `rcode`, DO as
 * asked, and encoded options. Nothing is added for a client without EDNS, or when it does not fit `out`.
 */
export function appendOpt(
  query: EdnsTarget,
  out: Uint8Array,
  length: number,
  rcode = 0,
  options = NO_EDNS_OPTIONS,
): number {
  const end = length + OPT_BYTES + options.length;
  if (!query.hasEdns || end > out.length) return length;
  out[length] = 0;
  writeUint16(out, length + 1, TYPE.OPT);
  writeUint16(out, length + 3, query.maxUdpBytes);
  out[length + 5] = rcode >>> 4;
  out[length + 6] = 0; // version
  // RFC 3225 section 3: DO is copied from the query, whatever the answer.
  out[length + 7] = query.isDnssecOk ? 0x80 : 0;
  out[length + 8] = 0;
  writeUint16(out, length + 9, options.length);
  for (let i = 0; i < options.length; i++) out[length + OPT_BYTES + i] = options[i]!;
  writeUint16(out, 10, readUint16(out, 10) + 1);
  return end;
}

/**
 * Moves the options that may stay to the front of an OPT record's data and returns the offset after them. None
 * stays after one that does not fit.
 */
export function retainOptions(data: Uint8Array, mayStay: (code: number) => boolean): number {
  let to = 0;
  for (let at = 0; at + OPTION_HEAD_BYTES <= data.length;) {
    const next = at + OPTION_HEAD_BYTES + readUint16(data, at + 2);
    if (next > data.length) break;
    if (mayStay(readUint16(data, at))) {
      data.copyWithin(to, at, next);
      to += next - at;
    }
    at = next;
  }
  return to;
}

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
