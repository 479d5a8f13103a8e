import {
  fitMessage,
  FLAG,
  markReasons,
  OPT_BYTES,
  readUint16,
  type RecordCursor,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';

/** Whether a reply has TC. */
export function isTruncated(reply: Uint8Array): boolean {
  return (readUint16(reply, 2) & FLAG.TC) !== 0;
}

/**
 * What is left of a cut reply when nothing better comes (dnsmasq src/rfc1035.c, extract_addresses), in the
 * same bytes: no records, and no authority over them. The cursor is the caller's.
 */
export function withoutRecords(reply: Buffer, cursor: RecordCursor): Buffer {
  const { end } = cursor.reset(reply, reply.length);
  writeUint16(reply, 2, readUint16(reply, 2) & ~FLAG.AA);
  return reply.subarray(0, fitMessage(reply, reply.length, end + OPT_BYTES, cursor));
}

/** What is passed on when nothing better comes than a refusal: that, or a truncated reply. The cursor is the caller's. */
export function betterOf(fallback: Buffer | null, refusal: Buffer, cursor: RecordCursor): Buffer {
  const isBetter = fallback !== null && isTruncated(fallback);
  return isBetter ? fallback : bareRefusal(refusal, cursor);
}

/**
 * A refusal as it may be passed on, in the same bytes: the server had no answer, so it has no records and no
 * authority. OPT stays, with the reason, which says that it is the server's. The cursor is the caller's.
 */
export function bareRefusal(reply: Buffer, cursor: RecordCursor): Buffer {
  const { end } = cursor.reset(reply, reply.length);
  const flags = readUint16(reply, 2) & ~FLAG.AA;
  let optBytes = 0;
  let hasRecords = false;
  while (cursor.next()) {
    if (cursor.type === TYPE.OPT) optBytes = cursor.end - cursor.start;
    else hasRecords = true;
  }
  const length = hasRecords
    ? fitMessage(reply, reply.length, end + optBytes, cursor)
    : reply.length;
  writeUint16(reply, 2, flags);
  return markReasons(reply.subarray(0, length), cursor);
}
