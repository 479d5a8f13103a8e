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
/** The bytes of an Extended DNS Error option without text (RFC 8914 section 2). */
export const EXTENDED_ERROR_OPTION_BYTES = 6;
/** EDNS option codes (RFC 7871 section 6, RFC 8914 section 2, RFC 9660 section 2). */
export const EDNS_OPTION = { SUBNET: 8, EXTENDED_ERROR: 15, ZONE_VERSION: 19 } as const;
/** Code and length of an option. */
const OPTION_HEAD_BYTES = 4;

/** The most bytes that `appendOpt` adds to an answer to this query. */
export function optBytesFor(query: EdnsTarget): number {
  return query.hasEdns ? OPT_BYTES + EXTENDED_ERROR_OPTION_BYTES : 0;
}

/**
 * Appends the OPT record that a client with EDNS gets (RFC 6891 section 6.1.1) to a whole message of
 * `length` bytes, counts it in the header, and returns the new length: the upper bits of `rcode`, DO as
 * asked, and an Extended DNS Error unless that is negative. Nothing is added for a client without EDNS,
 * or when it does not fit `out`.
 */
export function appendOpt(
  query: EdnsTarget,
  out: Uint8Array,
  length: number,
  rcode = 0,
  extendedError = -1,
): number {
  const optionBytes = extendedError < 0 ? 0 : EXTENDED_ERROR_OPTION_BYTES;
  const end = length + OPT_BYTES + optionBytes;
  if (!query.hasEdns || end > out.length) return length;
  out[length] = 0;
  writeUint16(out, length + 1, TYPE.OPT);
  writeUint16(out, length + 3, query.maxUdpBytes);
  out[length + 5] = rcode >>> 4;
  out[length + 6] = 0; // version
  // RFC 3225 section 3: DO is copied from the query, whatever the answer.
  out[length + 7] = query.isDnssecOk ? 0x80 : 0;
  out[length + 8] = 0;
  writeUint16(out, length + 9, optionBytes);
  if (optionBytes > 0) writeExtendedError(out, length + OPT_BYTES, extendedError);
  writeUint16(out, 10, readUint16(out, 10) + 1);
  return end;
}

/** Writes an Extended DNS Error option without text, of EXTENDED_ERROR_OPTION_BYTES, at `at`. */
export function writeExtendedError(out: Uint8Array, at: number, code: number): void {
  writeUint16(out, at, EDNS_OPTION.EXTENDED_ERROR);
  writeUint16(out, at + 2, 2);
  writeUint16(out, at + 4, code);
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
