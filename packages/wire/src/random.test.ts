import { expect, it } from '@jest/globals';
import { fillRandom, randomBytes } from './random.js';

it('fills all bytes, each value as often as another, and never the same twice', () => {
  const bytes = new Uint8Array(65_536);
  fillRandom(bytes);
  const counts = new Array<number>(256).fill(0);
  for (const byte of bytes) counts[byte]!++;
  // 256 of each; 128 away is eight standard deviations.
  for (const count of counts) expect(Math.abs(count - 256)).toBeLessThan(128);
  expect(new Set(Array.from({ length: 1_000 }, () => randomBytes(16).toString('hex'))).size).toBe(
    1_000,
  );
});
