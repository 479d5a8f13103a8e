import { readUint32, type RecordCursor, SECTION, TYPE, writeUint32 } from '@kube-dns/wire';

/** coredns plugin/pkg/dnsutil: the lifetime of a message without records, and of one with long TTLs only. */
const EMPTY_SECONDS = 5;
const LONGEST_SECONDS = 3_600;
const SOA_MINIMUM_BYTES = 4;

/**
 * How long a message may be cached, in seconds: the smallest TTL of all its records, and of the minimum of a SOA that a
 * negative answer has (coredns plugin/pkg/dnsutil/ttl.go, MinimalTTL).
 */
export function messageTtl(message: Uint8Array, isDenial: boolean, cursor: RecordCursor): number {
  let ttl = LONGEST_SECONDS;
  let records = 0;
  cursor.reset(message, message.length);
  while (cursor.next()) {
    if (cursor.type === TYPE.OPT) continue;
    records++;
    ttl = Math.min(ttl, cursor.ttlSeconds);
    if (isDenial && cursor.type === TYPE.SOA && cursor.section === SECTION.AUTHORITY) {
      ttl = Math.min(ttl, readUint32(message, cursor.end - SOA_MINIMUM_BYTES));
    }
  }
  return records === 0 ? EMPTY_SECONDS : ttl;
}

/** Gives all records of a message one TTL, in place. */
export function setMessageTtl(message: Uint8Array, ttlSeconds: number, cursor: RecordCursor): void {
  cursor.reset(message, message.length);
  while (cursor.next()) {
    if (cursor.type !== TYPE.OPT) writeUint32(message, cursor.ttlAt, ttlSeconds);
  }
}
