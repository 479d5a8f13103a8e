import { describe, expect, it } from '@jest/globals';
import { MeasureError } from '../errors.js';
import { cpuUsage, peakRssBytes, rssBytes, usageSince } from './process-usage.js';

describe('the usage of a process', () => {
  it('is as large as the process itself reports', () => {
    const rss = process.memoryUsage.rss();
    expect(rssBytes(process.pid)).toBeGreaterThan(rss * 0.8);
    expect(rssBytes(process.pid)).toBeLessThan(rss * 1.2);
    expect(peakRssBytes(process.pid)).toBeGreaterThanOrEqual(rssBytes(process.pid) * 0.99);
  });

  it('grows with the work that is done', () => {
    const before = cpuUsage(process.pid);
    // CPU time, which comes late on a busy machine.
    const { user, system } = process.cpuUsage();
    for (let ms = 0; ms < 100;) {
      const worked = process.cpuUsage({ user, system });
      ms = (worked.user + worked.system) / 1_000;
    }
    const own = process.cpuUsage();
    const now = cpuUsage(process.pid);
    const { userMs, systemMs } = usageSince(before, now);
    expect(userMs + systemMs).toBeGreaterThanOrEqual(80);
    expect(Math.abs(now.userMs - own.user / 1_000)).toBeLessThan(200);
  });

  it('is unknown for a process that does not exist', () => {
    expect(() => rssBytes(2 ** 30)).toThrow(MeasureError);
  });
});
