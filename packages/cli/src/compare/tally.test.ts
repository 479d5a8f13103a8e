import { describe, expect, it } from '@jest/globals';
import { Latency } from './tally.js';

describe('latency', () => {
  it('returns percentiles to within a twentieth', () => {
    const latency = new Latency();
    for (let ms = 1; ms <= 1_000; ms++) latency.add(ms);
    for (const [part, ms] of [
      [0.5, 500],
      [0.9, 900],
      [0.99, 990],
    ] as const) {
      expect(latency.percentileMs(part)).toBeGreaterThanOrEqual(ms);
      expect(latency.percentileMs(part)).toBeLessThan(ms * 1.05);
    }
  });

  it('counts each reply in one bar, however fast or slow', () => {
    const latency = new Latency();
    for (const ms of [0, 0.001, 0.016, 0.5, 3, 1e9]) latency.add(ms);
    expect(latency.bars().reduce((sum, { count }) => sum + count, 0)).toBe(6);
  });

  it('is nothing without replies', () => {
    expect([new Latency().percentileMs(0.5), new Latency().bars()]).toEqual([0, []]);
  });
});
