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

describe('randomSeed', () => {
  it('is another one each time', () => {
    expect(new Set(Array.from({ length: 8 }, randomSeed)).size).toBeGreaterThan(1);
  });
});
