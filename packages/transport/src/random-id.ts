import { fillRandom } from '@kube-dns/wire';

const pool = new Uint16Array(1024);
const bytes = new Uint8Array(pool.buffer);
let next = pool.length;

/** A message ID that cannot be guessed (RFC 5452 section 9.2); random bytes are fetched in bulk. */
export function randomId(): number {
  if (next === pool.length) {
    fillRandom(bytes);
    next = 0;
  }
  return pool[next++]!;
}

/** A number from 0 to less than `size`, each as likely as another; `size` is from 1 to 65536. */
export function randomBelow(size: number): number {
  const fair = 0x1_0000 - (0x1_0000 % size);
  for (;;) {
    const number = randomId();
    if (number < fair) return number % size;
  }
}
