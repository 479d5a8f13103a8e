import { readUint16, writeUint16 } from './bytes.js';
import { OPT_BYTES } from './opt-record.js';
import { FLAG, HEADER_BYTES, TYPE } from './protocol.js';
import { type RecordCursor, SECTION } from './record-cursor.js';

/**
 * Truncates a message in place to at most `maxBytes` (12 or more) and returns its new length. Whole records
 * are removed, from the end; OPT stays, without its options where these do not fit. TC is set when a
 * record of the answer or authority section is removed, not for additional ones (RFC 2181 section 9).
 * Of a malformed message the readable records stay, or else the header, and TC is set. The cursor is
 * the caller's, so that truncation creates none.
 */
export function fitMessage(
  bytes: Uint8Array,
  length: number,
  maxBytes: number,
  cursor: RecordCursor,
): number {
  if (length <= maxBytes) return length;
  const hasOpt = findOpt(cursor.reset(bytes, length));
  const optStart = hasOpt ? cursor.start : -1;
  let optBytes = hasOpt ? cursor.end - optStart : 0;
  cursor.reset(bytes, length);
  let { end } = cursor;
  if (end + optBytes > maxBytes) optBytes = Math.min(optBytes, OPT_BYTES);
  if (cursor.isMalformed() || end + optBytes > maxBytes) return cutToHeader(bytes);
  const counts = new Uint16Array(3);
  let isCut = false;
  // Records after OPT (a TSIG, which truncation invalidates) are removed.
  while (cursor.next() && cursor.start !== optStart) {
    if (cursor.end + optBytes > maxBytes) {
      isCut = cursor.section !== SECTION.ADDITIONAL;
      break;
    }
    counts[cursor.section]!++;
    ({ end } = cursor);
  }
  if (hasOpt) {
    bytes.copyWithin(end, optStart, optStart + optBytes);
    writeUint16(bytes, end + OPT_BYTES - 2, optBytes - OPT_BYTES);
    counts[SECTION.ADDITIONAL]!++;
  }
  writeUint16(bytes, 6, counts[SECTION.ANSWER]!);
  writeUint16(bytes, 8, counts[SECTION.AUTHORITY]!);
  writeUint16(bytes, 10, counts[SECTION.ADDITIONAL]!);
  if (isCut || cursor.isMalformed()) setTruncated(bytes);
  return end + optBytes;
}

/** Steps to the OPT record; false when there is none. */
function findOpt(cursor: RecordCursor): boolean {
  while (cursor.next()) {
    const isOpt = cursor.type === TYPE.OPT && cursor.typeAt === cursor.start + 1;
    if (isOpt && cursor.section === SECTION.ADDITIONAL) return true;
  }
  return false;
}

function setTruncated(bytes: Uint8Array): void {
  writeUint16(bytes, 2, readUint16(bytes, 2) | FLAG.TC);
}

function cutToHeader(bytes: Uint8Array): number {
  setTruncated(bytes);
  bytes.fill(0, 4, HEADER_BYTES);
  return HEADER_BYTES;
}
