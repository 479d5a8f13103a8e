import { describe, expect, it } from '@jest/globals';
import { rangeOf, spreadOf } from './statistics.js';

describe('the spread of values', () => {
  it('has values of the input, in any order', () => {
    const values = Array.from({ length: 200 }, (_, i) => ((i * 71) % 200) + 1);
    expect(spreadOf(values)).toEqual({
      count: 200,
      p50: 100,
      p90: 180,
      p99: 198,
      p999: 200,
      max: 200,
    });
  });

  it('has the largest value as p99 of a few', () => {
    expect(spreadOf([3, 1, 2])).toEqual({ count: 3, p50: 2, p90: 3, p99: 3, p999: 3, max: 3 });
  });

  it('is unknown without values', () => {
    expect(spreadOf([])).toEqual({ count: 0, p50: NaN, p90: NaN, p99: NaN, p999: NaN, max: NaN });
  });
});

describe('the range of a figure', () => {
  it('has the middle value of an odd number of runs', () => {
    expect(rangeOf([10, 2, 30, 9, 5])).toEqual({ min: 2, median: 9, max: 30 });
  });

  it('has the mean of the two in the middle of an even number', () => {
    expect(rangeOf([4, 1, 2, 100])).toEqual({ min: 1, median: 3, max: 100 });
  });

  it('leaves out runs without the figure', () => {
    expect(rangeOf([NaN, 3, 1, NaN, 2])).toEqual({ min: 1, median: 2, max: 3 });
    expect(rangeOf([NaN])).toEqual({ min: NaN, median: NaN, max: NaN });
    expect(rangeOf([])).toEqual({ min: NaN, median: NaN, max: NaN });
  });
});
