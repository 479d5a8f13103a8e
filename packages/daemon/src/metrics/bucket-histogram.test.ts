import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { BucketHistogram } from './metric-family.js';

describe('BucketHistogram', () => {
  it('counts a value in the bucket whose bound it does not exceed', () => {
    const histogram = new BucketHistogram([1, 2, 4]);
    for (const value of [0, 1, 1.5, 4, 5]) histogram.observe(value);
    expect([0, 1, 2].map((index) => histogram.cumulative(index))).toEqual([2, 3, 4]);
    expect({ sum: histogram.sum, count: histogram.count }).toEqual({ sum: 11.5, count: 5 });
  });

  it('agrees with counting by hand', () => {
    const bounds = [0.25, 0.5, 1, 2, 4, 8];
    fc.assert(
      fc.property(fc.array(fc.double({ min: -1, max: 10, noNaN: true })), (values) => {
        const histogram = new BucketHistogram(bounds);
        for (const value of values) histogram.observe(value);
        expect(bounds.map((_, index) => histogram.cumulative(index))).toEqual(
          bounds.map((bound) => values.filter((value) => value <= bound).length),
        );
      }),
    );
  });

  it('adds another one', () => {
    const [sum, other] = [new BucketHistogram([1, 2]), new BucketHistogram([1, 2])];
    sum.observe(0.5);
    for (const value of [0.75, 1.5, 4]) other.observe(value);
    sum.add(other);
    sum.add(new BucketHistogram([1, 2]));
    expect([sum.cumulative(0), sum.cumulative(1), sum.count, sum.sum]).toEqual([2, 3, 4, 6.75]);
  });

  it('ignores what is not a number', () => {
    const histogram = new BucketHistogram([1]);
    histogram.observe(NaN);
    expect({ sum: histogram.sum, count: histogram.count }).toEqual({ sum: 0, count: 0 });
  });

  it.each([[[1, 1]], [[2, 1]], [[NaN]]])('refuses the bounds %j', (bounds) => {
    expect(() => new BucketHistogram(bounds)).toThrow('histogram bounds must ascend');
  });
});
