import { RecordCursor, SECTION, writeUint32 } from '@kube-dns/wire';

/** Bounds of a TTL in seconds; 0 is none. Where they contradict each other the floor wins. */
export interface TtlBounds {
  readonly minSeconds: number;
  readonly maxSeconds: number;
}

const cursor = new RecordCursor();

/** Brings the TTLs of a message's answer section inside the bounds, in place. */
export function clampTtls(message: Uint8Array, length: number, bounds: TtlBounds): void {
  const { minSeconds, maxSeconds } = bounds;
  if (minSeconds === 0 && maxSeconds === 0) return;
  cursor.reset(message, length);
  while (cursor.next() && cursor.section === SECTION.ANSWER) {
    const { ttlSeconds } = cursor;
    const lowered = maxSeconds > 0 ? Math.min(ttlSeconds, maxSeconds) : ttlSeconds;
    const clamped = Math.max(lowered, minSeconds);
    if (clamped !== ttlSeconds) writeUint32(message, cursor.ttlAt, clamped);
  }
}
