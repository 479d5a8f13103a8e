import { expect, it } from '@jest/globals';
import { prove } from './prove-process.js';

const LIMIT_MS = 60_000;
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
    const { code, stderr, figures, plot } = await prove(['soak', ...SHORT], LIMIT_MS, true);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('0 wrong') });
    expect(figures.get('wrong answers')).toBe(0);
    expect(figures.get('right answers')).toBeGreaterThan(1_000);
    expect(figures.get('changes of services')).toBeGreaterThan(300);
    expect(figures.get('configurations')).toBeGreaterThan(2);
    expect(figures.get('kubedns: unhandled errors')).toBe(0);
    expect(plot).toContain('RSS, MiB');
  },
  LIMIT_MS + 5_000,
);
