import { describe, expect, it } from '@jest/globals';
import { addFigures } from './add-figures.js';

describe('addFigures', () => {
  it('adds numbers, arrays and what objects hold, each for itself', () => {
    const left = { queries: 1, rcodes: Float64Array.of(1, 2), nested: { a: 3, deep: { b: 4 } } };
    const right = {
      queries: 10,
      rcodes: Float64Array.of(10, 20),
      nested: { a: 30, deep: { b: 40 } },
    };
    expect(addFigures(left, right)).toEqual({
      queries: 11,
      rcodes: Float64Array.of(11, 22),
      nested: { a: 33, deep: { b: 44 } },
    });
    expect(left.queries).toBe(1);
  });
});
