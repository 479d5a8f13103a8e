import { describe, expect, it } from '@jest/globals';
import { Backoff } from './backoff.js';

const take = (backoff: Backoff, count: number) =>
  Array.from({ length: count }, () => backoff.next());

describe('Backoff', () => {
  it('doubles the pause from the first to half a minute', () => {
    const longest = new Backoff(() => 1, 500);
    expect(take(longest, 9)).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  });

  it('randomizes up to half of a pause', () => {
    const shortest = new Backoff(() => 0, 500);
    expect(take(shortest, 7)).toEqual([250, 500, 1000, 2000, 4000, 8000, 15_000]);
  });

  it('starts again after a success', () => {
    const backoff = new Backoff(() => 1, 500);
    take(backoff, 5);
    backoff.reset();
    expect(take(backoff, 3)).toEqual([500, 1000, 2000]);
  });

  it('stays at another longest pause while that is given, and grows from there', () => {
    const backoff = new Backoff(() => 1, 500);
    expect(Array.from({ length: 4 }, () => backoff.next(800))).toEqual([500, 800, 800, 800]);
    expect(take(backoff, 3)).toEqual([800, 1600, 3200]);
  });
});
