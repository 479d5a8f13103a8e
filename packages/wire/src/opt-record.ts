import { readUint16, writeUint16 } from './bytes.js';
import { TYPE } from './protocol.js';

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
