import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { formatGoDuration, parseGoDuration } from './go-duration.js';

describe('parseGoDuration', () => {
  it.each([
    ['0', 0],
    ['-0', 0],
    ['0s', 0],
    ['10s', 10_000],
    ['1m0s', 60_000],
    ['1h2m3.5s', 3_723_500],
    ['1.5h', 5_400_000],
    ['300ms', 300],
    ['1us', 0.001],
    ['1µs', 0.001],
    ['1μs', 0.001],
    ['500000ns', 0.5],
    ['-1m', -60_000],
    ['+2s', 2_000],
    ['.5s', 500],
    ['1.s', 1_000],
    ['1s1s', 2_000],
  ])('reads %s', (text, ms) => {
    expect(parseGoDuration(text)).toBeCloseTo(ms, 9);
  });

  it.each(['', '-', 's', '.s', '5', '1s5', '5d', '1 s', '--1s', '1s-1s', '3000000h'])(
    'refuses %j',
    (text) => {
      const wanted = 'must be a duration with its units, such as 500ms, 30s or 1m30s';
      expect(() => parseGoDuration(text)).toThrow(new Error(wanted));
    },
  );
});

describe('formatGoDuration', () => {
  it.each([
    [0, '0s'],
    [0.5, '500µs'],
    [0.000_002, '2ns'],
    [500, '500ms'],
    [10_000, '10s'],
    [60_000, '1m0s'],
    [90_500, '1m30.5s'],
    [3_600_000, '1h0m0s'],
    [-1_500, '-1.5s'],
  ])('writes %d ms', (ms, text) => {
    expect(formatGoDuration(ms)).toBe(text);
  });

  it('writes what parseGoDuration reads back', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e12, max: 1e12 }), (ms) => {
        expect(parseGoDuration(formatGoDuration(ms))).toBe(ms);
      }),
    );
  });
});
