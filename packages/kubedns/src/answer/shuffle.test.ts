import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Shuffle } from './shuffle.js';

/** A small generator with a fixed seed (mulberry32): the counts below are the same in each run. */
function seeded(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let bits = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe('Shuffle', () => {
  it('makes each order of four records equally often', () => {
    const shuffle = new Shuffle(seeded(1));
    const rounds = 24_000;
    const counts = new Map<string, number>();
    for (let i = 0; i < rounds; i++) {
      const key = shuffle.order(4).subarray(0, 4).join();
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    expect(counts.size).toBe(24);
    const expected = rounds / 24;
    const squares = [...counts.values()].map((count) => (count - expected) ** 2 / expected);
    // The 99.9th percentile of chi-square with 23 degrees of freedom.
    expect(squares.reduce((sum, square) => sum + square, 0)).toBeLessThan(49.73);
  });

  it('orders any number of records, each once', () => {
    const shuffle = new Shuffle();
    fc.assert(
      fc.property(fc.nat({ max: 300 }), (count) => {
        const order = [...shuffle.order(count).subarray(0, count)];
        const ascending = Array.from({ length: count }, (_, i) => i);
        expect(order.sort((left, right) => left - right)).toEqual(ascending);
      }),
    );
  });

  it('numbers more records than 16 bits can', () => {
    const count = 70_000;
    const order = new Shuffle().order(count).subarray(0, count);
    expect(new Set(order).size).toBe(count);
  });
});
