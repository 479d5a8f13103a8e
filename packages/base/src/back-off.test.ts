import { describe, expect, it } from '@jest/globals';
import { BackOff } from './back-off.js';

/** Pauses from half a second to 30 s, with this random number. */
const backOffOf = (random: number) =>
  new BackOff({ firstMs: 500, longestMs: 30_000, random: () => random });

const take = (backOff: BackOff, count: number) =>
  Array.from({ length: count }, () => backOff.next());

describe('BackOff', () => {
  it('doubles the pause from the first to the longest one', () => {
    expect(take(backOffOf(1), 9)).toEqual([
      500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000,
    ]);
  });

  it('draws half of a pause at random', () => {
    expect(take(backOffOf(0), 7)).toEqual([250, 500, 1000, 2000, 4000, 8000, 15_000]);
    expect(take(backOffOf(0.5), 2)).toEqual([375, 750]);
  });

  it('draws as much of it as it is to, also nothing', () => {
    const exact = new BackOff({ firstMs: 10, longestMs: 300, randomPart: 0 });
    expect(take(exact, 7)).toEqual([10, 20, 40, 80, 160, 300, 300]);
  });

  it('starts again after a success', () => {
    const backOff = backOffOf(1);
    take(backOff, 5);
    backOff.reset();
    expect(take(backOff, 3)).toEqual([500, 1000, 2000]);
  });

  it('stays at another longest pause while that is given, and grows from there', () => {
    const backOff = backOffOf(1);
    expect(Array.from({ length: 4 }, () => backOff.next(800))).toEqual([500, 800, 800, 800]);
    expect(take(backOff, 3)).toEqual([800, 1600, 3200]);
  });
});
