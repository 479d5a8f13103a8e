import { type RecordCursor, SECTION, writeUint32 } from '@kube-dns/wire';

/**
 * Limits the TTLs of a message's answer section to a ceiling in seconds, in place; 0 is none. The
 * caller provides the cursor, see `fitMessage`.
 */
export function clampTtls(
  message: Uint8Array,
  length: number,
  maxSeconds: number,
  cursor: RecordCursor,
): void {
  if (maxSeconds === 0) return;
  cursor.reset(message, length);
  while (cursor.next() && cursor.section === SECTION.ANSWER) {
    if (cursor.ttlSeconds > maxSeconds) writeUint32(message, cursor.ttlAt, maxSeconds);
  }
}
