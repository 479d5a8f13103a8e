import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { finishHash, FNV_OFFSET, hashByte, hashBytes, randomSeed } from './byte-hash.js';

describe('hashBytes', () => {
  it.each([
    ['', 0x811c_9dc5],
    ['a', 0xe40c_292c],
    ['foobar', 0xbf9c_f968],
  ])('is FNV-1a: of %j', (text, expected) => {
    expect(hashBytes(FNV_OFFSET, Buffer.from(text), 0, text.length) >>> 0).toBe(expected);
  });

  it('takes the bytes between two offsets, one after another', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.nat(), fc.integer(), (bytes, at, seed) => {
        const start = Math.min(at, bytes.length);
        const one = bytes.subarray(start).reduce(hashByte, seed);
        expect(hashBytes(seed, bytes, start, bytes.length) | 0).toBe(one | 0);
      }),
    );
  });
});

describe('finishHash', () => {
  it('makes the low bits depend on the high ones', () => {
    const buckets = new Set(Array.from({ length: 256 }, (_, i) => finishHash(i << 16) & 0xff));
    expect(buckets.size).toBeGreaterThanOrEqual(128);
  });
});

describe('hash collisions: names that share a bucket for one seed', () => {
  const BUCKETS = 1_024;
  const NAMES = 400;
  const bucketOf = (seed: number, name: Uint8Array) =>
    finishHash(hashBytes(seed, name, 0, name.length)) & (BUCKETS - 1);

  it('are spread for every other one, so who does not know it cannot choose them', () => {
    const names: Uint8Array[] = [];
    for (let i = 0; names.length < NAMES; i++) {
      const name = Buffer.from(`n${i.toString(36)}`);
      if (bucketOf(1, name) === 0) names.push(name);
    }
    for (let seed = 2; seed < 50; seed++) {
      const buckets = new Map<number, number>();
      for (const name of names) {
        const bucket = bucketOf(Math.imul(seed, 0x9e37_79b1), name);
        buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1);
      }
      expect(Math.max(...buckets.values())).toBeLessThan(NAMES / 16);
    }
  });
});

describe('randomSeed', () => {
  it('is another one each time', () => {
    expect(new Set(Array.from({ length: 8 }, randomSeed)).size).toBeGreaterThan(1);
  });
});
