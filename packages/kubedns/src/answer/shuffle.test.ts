import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MAX_DRAWS, Shuffle } from './shuffle.js';

/** A small generator with a fixed seed (mulberry32): the counts below are the same in each run. */
function seeded(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let bits = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** All the numbers that may be drawn. */
function drawn(shuffle: Shuffle, count: number): number[] {
  return Array.from({ length: shuffle.start(count) }, () => shuffle.next());
}

describe('Shuffle', () => {
  it('makes each order of four records equally often', () => {
    const shuffle = new Shuffle(seeded(1));
    const rounds = 24_000;
    const counts = new Map<string, number>();
    for (let i = 0; i < rounds; i++) {
      const key = drawn(shuffle, 4).join();
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
        const order = drawn(shuffle, count);
        const ascending = Array.from({ length: count }, (_, i) => i);
        expect(order.sort((left, right) => left - right)).toEqual(ascending);
      }),
    );
  });

  it('makes each of very many records first equally often, and none twice', () => {
    const shuffle = new Shuffle(seeded(2));
    const tenths = new Array<number>(10).fill(0);
    const count = 20_000_000_000;
    for (let i = 0; i < 1_000; i++) {
      shuffle.start(count);
      tenths[Math.floor((shuffle.next() * 10) / count)]!++;
    }
    expect(Math.min(...tenths)).toBeGreaterThan(60);
    expect(Math.max(...tenths)).toBeLessThan(140);
    expect(new Set(drawn(shuffle, count))).toHaveProperty('size', MAX_DRAWS);
    expect(new Set(drawn(shuffle, MAX_DRAWS))).toHaveProperty('size', MAX_DRAWS);
  });
});
