import { describe, expect, it } from '@jest/globals';
import { median } from '@kube-dns/testkit';
import { growth, increase, lastThird, medianOf } from './trend.js';

function points(values: readonly number[]) {
  return values.map((value, atSeconds) => ({ atSeconds, value }));
}

function over(seconds: number, value: (at: number) => number) {
  return points(Array.from({ length: seconds }, (_, i) => value(i)));
}

describe('a trend', () => {
  it('of a leak is its growth between the first and the last quarter', () => {
    // 100 to 120: the middles of the quarters are 15 apart.
    expect(growth(over(1_000, (i) => 100 + i / 50)) * 100).toBeCloseTo(14.6, 0);
  });

  it('of garbage that comes and goes is none', () => {
    const saw = over(1_000, (i) => 100 + (i % 37));
    expect(Math.abs(growth(saw))).toBeLessThan(0.02);
    const spike = over(1_000, (i) => (i > 980 ? 500 : 100));
    expect(growth(spike)).toBe(0);
  });

  it('counts descriptors that stay open', () => {
    expect(increase(over(100, (i) => 20 + Math.floor(i / 10)))).toBeGreaterThan(6);
    expect(increase(over(100, (i) => 20 + (i % 3)))).toBeLessThan(1);
  });

  it('of a latency is its last third beside the second', () => {
    expect(lastThird(over(300, (i) => (i < 200 ? 2 : 3)))).toBe(1.5);
    expect(lastThird(over(300, (i) => (i < 100 ? 9 : 3)))).toBe(1);
  });

  it('leaves out what could not be measured', () => {
    expect(median([Number.NaN, 3, 1, Number.NaN, 2])).toBe(2);
    expect(median([])).toBeNaN();
    expect(medianOf(points([Number.NaN, 4, 4]), 0, 1)).toBe(4);
  });
});
