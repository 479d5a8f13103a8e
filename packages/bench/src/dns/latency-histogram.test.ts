import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LatencyHistogram } from './latency-histogram.js';

describe('a histogram of times', () => {
  it('has the nearest rank to 1.6 %, and the longest as it is', () => {
    const times = fc.double({ min: 0.001, max: 100_000, noNaN: true });
    fc.assert(
      fc.property(fc.array(times, { minLength: 1, maxLength: 500 }), (values) => {
        const histogram = new LatencyHistogram();
        for (const value of values) histogram.add(value);
        const { count, p50Ms, p99Ms, maxMs } = histogram.percentiles();
        const sorted = [...values].sort((left, right) => left - right);
        const rank = (part: number) => sorted[Math.ceil(part * sorted.length) - 1]!;
        expect(count).toBe(values.length);
        expect(maxMs).toBe(rank(1));
        for (const [found, right] of [
          [p50Ms, rank(0.5)],
          [p99Ms, rank(0.99)],
        ] as const) {
          expect(found).toBeGreaterThanOrEqual(right - 0.0001);
          expect(found).toBeLessThanOrEqual(right * 1.0165 + 0.0002);
        }
      }),
    );
  });

  it('has nothing without times', () => {
    expect(new LatencyHistogram().percentiles()).toMatchObject({
      count: 0,
      p50Ms: NaN,
      maxMs: NaN,
    });
  });

  it('adds many of one time', () => {
    const histogram = new LatencyHistogram();
    histogram.add(1, 990);
    histogram.add(1_000, 10);
    const { count, p99Ms, p999Ms } = histogram.percentiles();
    expect(count).toBe(1_000);
    expect(p99Ms).toBeCloseTo(1, 1);
    expect(p999Ms).toBe(1_000);
  });

  it('takes in the times of another one', () => {
    const [first, second] = [new LatencyHistogram(), new LatencyHistogram()];
    first.addAll(second);
    expect(first.percentiles().maxMs).toBeNaN();
    first.add(1, 99);
    second.add(7);
    first.addAll(second);
    expect(first.percentiles()).toMatchObject({ count: 100, maxMs: 7 });
    expect(first.percentiles().p99Ms).toBeCloseTo(1, 1);
  });
});
