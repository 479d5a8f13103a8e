import { describe, expect, it } from '@jest/globals';
import { BackOff } from './back-off.js';

describe('the back-off of restarts', () => {
  it('is none at first, then 10 s doubling to 5 minutes', () => {
    const backOff = new BackOff();
    const delays = Array.from({ length: 9 }, () => backOff.next(1_000) / 1000);
    expect(delays).toEqual([0, 10, 20, 40, 80, 160, 300, 300, 300]);
  });

  it('starts over after ten minutes of running', () => {
    const backOff = new BackOff();
    backOff.next(1_000);
    backOff.next(1_000);
    expect(backOff.next(599_999)).toBe(20_000);
    expect(backOff.next(600_000)).toBe(0);
    expect(backOff.next(1_000)).toBe(10_000);
  });
});
