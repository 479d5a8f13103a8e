import { describe, expect, it } from '@jest/globals';
import { randomBelow, randomId } from './random-id.js';

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

describe('randomBelow', () => {
  it.each([1, 3, 64_512, 65_536])('gives each number below %d as often as another', (size) => {
    const third = size / 3;
    const counts = [0, 0, 0];
    const numbers = Array.from({ length: 9_000 }, () => randomBelow(size));
    const isBelow = (number: number) => Number.isInteger(number) && number >= 0 && number < size;
    expect(numbers.filter((number) => !isBelow(number))).toEqual([]);
    for (const number of numbers) counts[Math.floor(number / third)]!++;
    if (size === 1) return;
    // 3,000 each; 360 away is eight standard deviations.
    for (const count of counts) expect(Math.abs(count - 3_000)).toBeLessThan(360);
  });
});
