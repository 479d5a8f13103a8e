import { randomFillSync } from 'node:crypto';

const pool = new Uint16Array(1024);
let next = pool.length;

/** A message ID that cannot be guessed (RFC 5452 section 9.2); random bytes are fetched in bulk. */
export function randomId(): number {
  if (next === pool.length) {
    randomFillSync(pool);
    next = 0;
  }
  return pool[next++]!;
}
