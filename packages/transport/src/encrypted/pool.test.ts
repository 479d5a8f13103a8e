import { describe, expect, it } from '@jest/globals';
import { BackOff } from './pool.js';

/** How long the pause is after so many failures. */
function pauseAfter(failures: number, random: number): number {
  const backOff = new BackOff();
  for (let i = 0; i < failures; i++) backOff.fail(0, random);
  let ms = 0;
  while (!backOff.isOver(ms)) ms++;
  return ms;
}

describe('BackOff', () => {
  it('doubles the pause from 0.1 s up to 10 s, up to half of it less at random', () => {
    expect([0, 1, 2, 3, 7, 8, 20].map((failures) => pauseAfter(failures, 1))).toEqual([
      0, 100, 200, 400, 6_400, 10_000, 10_000,
    ]);
    expect([1, 2, 20].map((failures) => pauseAfter(failures, 0))).toEqual([50, 100, 5_000]);
  });

  it('begins anew after a reply', () => {
    const backOff = new BackOff();
    for (let i = 0; i < 5; i++) backOff.fail(0);
    backOff.reset();
    expect(backOff.isOver(0)).toBe(true);
    backOff.fail(0, 1);
    expect([99, 100].map((ms) => backOff.isOver(ms))).toEqual([false, true]);
  });
});
