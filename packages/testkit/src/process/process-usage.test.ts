import { describe, expect, it } from '@jest/globals';
import { MeasureError } from '../errors.js';
import { cpuUsage, peakRssBytes, rssBytes, usageSince } from './process-usage.js';

const TICK_MS = 10;

describe('the usage of a process', () => {
  it('has the memory that the process itself reports', () => {
    // Another field or unit is off by far more.
    const times = rssBytes(process.pid) / process.memoryUsage.rss();
    expect(Math.round(Math.log2(times))).toBe(0);
    expect(peakRssBytes(process.pid) / rssBytes(process.pid)).toBeGreaterThan(0.9);
  });

  it('has the CPU time that the process itself reports, in whole ticks', () => {
    const before = process.cpuUsage();
    const { userMs, systemMs } = cpuUsage(process.pid);
    const after = process.cpuUsage();
    expect(userMs).toBeGreaterThan(before.user / 1_000 - TICK_MS);
    expect(userMs).toBeLessThan(after.user / 1_000 + TICK_MS);
    expect(systemMs).toBeGreaterThan(before.system / 1_000 - TICK_MS);
    expect(systemMs).toBeLessThan(after.system / 1_000 + TICK_MS);
  });

  it('between two readings is their difference', () => {
    const [before, now] = [
      { userMs: 100, systemMs: 20 },
      { userMs: 150, systemMs: 20 },
    ];
    expect(usageSince(before, now)).toEqual({ userMs: 50, systemMs: 0 });
  });

  it('is unknown for a process that does not exist', () => {
    expect(() => rssBytes(2 ** 30)).toThrow(MeasureError);
  });
});
