import { fitMessage, FLAG, OPT_BYTES, readUint16, type RecordCursor } from '@kube-dns/wire';

/** Whether a reply has TC. */
export function isTruncated(reply: Uint8Array): boolean {
  return (readUint16(reply, 2) & FLAG.TC) !== 0;
}

/**
 * What is left of a cut reply when nothing better comes (dnsmasq src/rfc1035.c, extract_addresses). The
 * cursor is the caller's.
 */
export function withoutRecords(reply: Buffer, cursor: RecordCursor): Buffer {
  const { end } = cursor.reset(reply, reply.length);
  return reply.subarray(0, fitMessage(reply, reply.length, end + OPT_BYTES, cursor));
}
