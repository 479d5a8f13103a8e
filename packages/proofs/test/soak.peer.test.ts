import { expect, it } from '@jest/globals';
import { prove } from './prove-process.js';

const LIMIT_MS = 300_000;
/** Everything happens as in a long run, only sooner; a change has a minute to show. */
const SHORT = [
  '--busy',
  '--minutes=0.06',
  '--qps=300',
  '--churned=300',
  '--settled=100',
  '--settle-seconds=60',
  '--record-ttl=2',
  '--config-seconds=1',
  '--reconnect-seconds=2',
  '--sample-seconds=0.5',
];

it(
  'the pod answers rightly while its cluster and its configuration change',
  async () => {
    const { figures, missed, plot } = await prove(['soak', ...SHORT], LIMIT_MS, true);
    expect(missed).toEqual([]);
    expect(figures.get('wrong answers')).toBe(0);
    for (const counted of ['right answers', 'changes of services', 'configurations']) {
      expect(figures.get(counted)).toBeGreaterThan(0);
    }
    for (const name of ['kubedns', 'dnsmasq', 'sidecar']) {
      expect(figures.get(`${name}: unhandled errors`)).toBe(0);
      expect(figures.has(`${name}: more descriptors`)).toBe(true);
      expect(figures.has(`${name}: more timers and handles`)).toBe(true);
    }
    expect(plot).toContain('RSS, MiB');
  },
  LIMIT_MS,
);
