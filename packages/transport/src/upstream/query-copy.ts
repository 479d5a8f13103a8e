import { type Query, type RecordCursor, SECTION, TYPE, writeUint16 } from '@kube-dns/wire';

/** RFC 6891 section 6.2.5: a smaller size counts as this. */
const MIN_EDNS_BYTES = 512;

/**
 * A copy of a query for upstream servers: unchanged, except that it asks for UDP answers of at most
 * `maxUdpBytes`, which is what the client can get from us. Its options stay. The cursor is the caller's.
 */
export function copyForUpstream(query: Query, maxUdpBytes: number, cursor: RecordCursor): Buffer {
  const copy = Buffer.allocUnsafe(query.length);
  const { bytes, length } = query;
  for (let i = 0; i < length; i++) copy[i] = bytes[i]!;
  if (query.hasEdns) clampEdnsSize(copy, maxUdpBytes, cursor.reset(copy, length));
  return copy;
}

function clampEdnsSize(message: Buffer, maxUdpBytes: number, cursor: RecordCursor): void {
  while (cursor.next()) {
    if (cursor.section !== SECTION.ADDITIONAL || cursor.type !== TYPE.OPT) continue;
    // The class of an OPT record is the size (RFC 6891 section 6.1.2).
    const size = Math.max(MIN_EDNS_BYTES, Math.min(cursor.class, maxUdpBytes));
    writeUint16(message, cursor.typeAt + 2, size);
    return;
  }
}
