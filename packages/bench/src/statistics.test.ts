import { describe, expect, it } from '@jest/globals';
import { spreadOf } from './statistics.js';

describe('the spread of values', () => {
  it('names values that were there, whatever their order', () => {
    const values = Array.from({ length: 200 }, (_, i) => ((i * 71) % 200) + 1);
    expect(spreadOf(values)).toEqual({ count: 200, p50: 100, p99: 198, max: 200 });
  });

  it('has the largest as p99 of few', () => {
    expect(spreadOf([3, 1, 2])).toEqual({ count: 3, p50: 2, p99: 3, max: 3 });
  });

  it('is unknown of nothing', () => {
    expect(spreadOf([])).toEqual({ count: 0, p50: NaN, p99: NaN, max: NaN });
  });
});
