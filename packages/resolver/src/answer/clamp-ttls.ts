import { type RecordCursor, SECTION, TYPE, writeUint32 } from '@kube-dns/wire';

const TOP_BIT = 0x80;

/**
 * Limits the TTLs of a message's answer section to a ceiling in seconds, in place; 0 is none. In every
 * section a TTL with the top bit set becomes 0 (RFC 2181 section 8). The caller provides the cursor, see
 * `fitMessage`.
 */
export function clampTtls(
  message: Uint8Array,
  length: number,
  maxSeconds: number,
  cursor: RecordCursor,
): void {
  cursor.reset(message, length);
  while (cursor.next()) {
    const hasTopBit = message[cursor.ttlAt]! >= TOP_BIT;
    if (hasTopBit && cursor.type !== TYPE.OPT) writeUint32(message, cursor.ttlAt, 0);
    const isTooHigh =
      maxSeconds > 0 && cursor.section === SECTION.ANSWER && cursor.ttlSeconds > maxSeconds;
    if (isTooHigh) writeUint32(message, cursor.ttlAt, maxSeconds);
  }
}
