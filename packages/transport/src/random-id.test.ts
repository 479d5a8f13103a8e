import { describe, expect, it } from '@jest/globals';
import { randomId } from './random-id.js';

describe('randomId', () => {
  it('gives 16-bit numbers that fill the range evenly, beyond one pool too', () => {
    const ids = Array.from({ length: 20_000 }, randomId);
    expect(ids.every((id) => Number.isInteger(id) && id >= 0 && id <= 0xffff)).toBe(true);
    const quarters = [0, 0, 0, 0];
    for (const id of ids) quarters[id >> 14]! += 1;
    // 5,000 each; 500 away is eight standard deviations.
    for (const count of quarters) expect(Math.abs(count - 5000)).toBeLessThan(500);
    expect(new Set(ids).size).toBeGreaterThan(16_000);
  });
});
