import { expect, it } from '@jest/globals';
import { needsPrograms, unless } from '@kube-dns/testkit';
import { prove } from './prove-process.js';

const LIMIT_MS = 300_000;
const SHORT = [
  '--busy',
  '--qps=300',
  '--checked-qps=100',
  '--scale=50',
  '--timeout=0.3',
  '--pause=0',
  '--services=60',
];

unless(needsPrograms('dnsperf'), it)(
  'stopping, starting and configuring two pods leads to no wrong answer, and each container ends with 0',
  async () => {
    const { stderr, figures, missed, notes } = await prove(['roll', ...SHORT], LIMIT_MS);
    expect(stderr).toContain('second pod: start');
    expect({ missed, notes: missed.length > 0 && notes }).toEqual({ missed: [], notes: false });
    expect(figures.get('checked: wrong answers')).toBe(0);
    expect(figures.get('checked: right answers')).toBeGreaterThan(0);
    expect(figures.get('containers that did not end with 0')).toBe(0);
  },
  LIMIT_MS,
);
