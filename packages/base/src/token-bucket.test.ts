import { expect, it } from '@jest/globals';
import { TokenBucket } from './token-bucket.js';

it('a token bucket allows a burst, then its rate', () => {
  let nowMs = 1_000;
  const bucket = new TokenBucket(10, 5, () => nowMs);
  const taken = () => Array.from({ length: 20 }, () => bucket.take()).filter(Boolean).length;
  expect(taken()).toBe(5);
  nowMs += 99;
  expect(taken()).toBe(0);
  nowMs += 2;
  expect(taken()).toBe(1);
  nowMs += 60_000;
  expect(taken()).toBe(5);
});
