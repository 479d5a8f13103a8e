import {
  appendOpt,
  EDNS_OPTION,
  HEADER_BYTES,
  OPT_BYTES,
  QUESTION_FIXED_BYTES,
  readUint16,
  SAFE_UDP_BYTES,
  skipName,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';

/** RFC 8467 section 4.1: queries are padded to multiples of this. */
const BLOCK_BYTES = 128;
const OPTION_HEAD_BYTES = 4;
const MAX_BYTES = 65_535;

/** A query of this program with an OPT record, so that it is padded: its length would tell its name. */
export function paddable(query: Uint8Array): Buffer {
  const message = Buffer.alloc(query.length + OPT_BYTES);
  message.set(query);
  const opt = { hasEdns: true, isDnssecOk: false, maxUdpBytes: SAFE_UDP_BYTES };
  appendOpt(opt, message, query.length);
  return message;
}

/** How long a query is with its padding (RFC 7830); one without an OPT record at its end, or with a signature, stays as it is. */
export function paddedLength(query: Uint8Array): number {
  const { length } = query;
  if (readUint16(query, 10) !== 1 || readUint16(query, 6) + readUint16(query, 8) !== 0) {
    return length;
  }
  const optAt = optOffset(query);
  const isOpt = query[optAt] === 0 && readUint16(query, optAt + 1) === TYPE.OPT;
  if (!isOpt || optAt + OPT_BYTES + readUint16(query, optAt + 9) !== length) return length;
  const padded = Math.ceil((length + OPTION_HEAD_BYTES) / BLOCK_BYTES) * BLOCK_BYTES;
  return padded > MAX_BYTES ? length : padded;
}

/** Writes a query with its padding, so that it takes `length` bytes from `at`; `out` may have old bytes there. */
export function writePadded(query: Uint8Array, out: Buffer, at: number, length: number): void {
  out.set(query, at);
  const bytes = length - query.length;
  if (bytes === 0) return;
  const optionAt = at + query.length;
  const lengthAt = at + optOffset(query) + OPT_BYTES - 2;
  writeUint16(out, lengthAt, readUint16(out, lengthAt) + bytes);
  writeUint16(out, optionAt, EDNS_OPTION.PADDING);
  writeUint16(out, optionAt + 2, bytes - OPTION_HEAD_BYTES);
  out.fill(0, optionAt + OPTION_HEAD_BYTES, at + length);
}

/** Where the OPT record of a query with no other record is. */
function optOffset(query: Uint8Array): number {
  return skipName(query, HEADER_BYTES, query.length) + QUESTION_FIXED_BYTES;
}
