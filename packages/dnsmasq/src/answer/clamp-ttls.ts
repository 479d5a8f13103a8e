import { type RecordCursor, SECTION, writeUint32 } from '@kube-dns/wire';

/**
 * Brings the TTLs of a message's answer section down to a ceiling in seconds, in place; 0 is none. The
 * cursor is the caller's, see `fitMessage`.
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
