import { describe, expect, it } from '@jest/globals';
import { Sampling } from './top-questions.js';

/** A source of numbers that gives the same ones each time (Park and Miller). */
function repeatable(): () => number {
  let state = 1;
  return () => (state = (state * 48_271) % 0x7fff_ffff);
}

describe('the questions that are counted', () => {
  it('are all of them at a low rate', () => {
    const sampling = new Sampling(repeatable());
    const taken = new Set<number>();
    for (let period = 0; period < 50; period++) {
      for (let i = 0; i < 200; i++) taken.add(sampling.take());
      sampling.endPeriod();
    }
    expect([...taken]).toEqual([1]);
    sampling.close();
  });

  it('stand for all of them at a high rate, also where two kinds take turns', () => {
    const sampling = new Sampling(repeatable());
    const total = 400_000;
    const counted = [0, 0];
    let taken = 0;
    for (let i = 0; i < total; i++) {
      const times = sampling.take();
      counted[i % 2]! += times;
      if (times > 0) taken++;
      if (i % 20_000 === 19_999) sampling.endPeriod();
    }
    sampling.close();
    expect(taken).toBeLessThan(total / 35);
    // Five standard deviations of the sample are 6.5 %.
    expect(Math.abs(counted[0]! - total / 2)).toBeLessThan(total * 0.065);
    expect(Math.abs(counted[1]! - total / 2)).toBeLessThan(total * 0.065);
  });
});
