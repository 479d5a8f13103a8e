import { expect, it } from '@jest/globals';
import { prove } from './prove-process.js';

const LIMIT_MS = 150_000;
/** Percent; the command itself wants 0.01 on a machine that is not used by others. */
const MAX_LOST = 5;
const MAX_MORE = 8;
/** Everything happens as in a long run, only sooner; memory still grows this early in a process. */
const SHORT = [
  '--minutes=0.14',
  '--qps=300',
  '--churned=300',
  '--settled=100',
  '--record-ttl=2',
  '--config-seconds=2',
  '--reconnect-seconds=6',
  '--sample-seconds=0.5',
  '--rss-growth=40',
  '--p99-ratio=100',
];

it(
  'the pod answers rightly and leaks nothing while its cluster and its configuration change',
  async () => {
    const { stderr, figures, plot } = await prove(['soak', ...SHORT], LIMIT_MS, true);
    expect(stderr.split('\n').filter((line) => line.includes('; right is '))).toEqual([]);
    expect(figures.get('wrong answers')).toBe(0);
    expect(figures.get('right answers')).toBeGreaterThan(500);
    expect(figures.get('without an answer')).toBeLessThan(MAX_LOST);
    expect(figures.get('changes of services')).toBeGreaterThan(200);
    expect(figures.get('configurations')).toBeGreaterThan(1);
    for (const name of ['kubedns', 'dnsmasq', 'sidecar']) {
      expect(figures.get(`${name}: unhandled errors`)).toBe(0);
      expect(figures.get(`${name}: more descriptors`)).toBeLessThanOrEqual(MAX_MORE);
      expect(figures.get(`${name}: more timers and handles`)).toBeLessThanOrEqual(MAX_MORE);
    }
    expect(plot).toContain('RSS, MiB');
  },
  LIMIT_MS + 5_000,
);
