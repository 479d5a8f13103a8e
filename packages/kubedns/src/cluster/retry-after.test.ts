import { describe, expect, it } from '@jest/globals';
import { parseRetryAfter } from './retry-after.js';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);

describe('parseRetryAfter', () => {
  it.each([
    ['7', 7_000],
    [' 120 ', 120_000],
    ['0', 0],
    ['Fri, 02 Jan 2026 03:05:05 GMT', 60_000],
    ['Friday, 02-Jan-26 03:04:15 GMT', 10_000],
    ['Fri Jan  2 03:04:06 2026 GMT', 1_000],
    ['Fri, 02 Jan 2026 03:04:04 GMT', 0],
    ['soon', 0],
    ['-5', 0],
    ['1.5', 0],
    ['', 0],
    [undefined, 0],
  ])('takes %j for %i ms', (value, ms) => {
    expect(parseRetryAfter(value, () => NOW)).toBe(ms);
  });
});
