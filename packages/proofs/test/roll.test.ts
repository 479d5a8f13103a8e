import { expect, it } from '@jest/globals';
import { againIfStalled, needsPrograms, unless } from '@kube-dns/testkit';
import { prove } from './prove-process.js';

const LIMIT_MS = 150_000;
const SHORT = [
  '--qps=300',
  '--checked-qps=100',
  '--scale=20',
  '--timeout=1',
  '--pause=0',
  '--services=60',
];

unless(needsPrograms('dnsperf'), it)(
  'stopping, starting and configuring two pods loses nothing at the second try',
  () =>
    againIfStalled(async () => {
      const { stderr, figures } = await prove(['roll', ...SHORT], LIMIT_MS);
      expect(stderr).toContain('second pod: start');
      // Fewer than were to be asked, where others use the cores.
      expect(figures.get('questions a second')).toBeGreaterThan(100);
      expect(figures.get('lost at the second try')).toBe(0);
      expect(figures.get('wrong rcodes')).toBe(0);
      expect(figures.get('checked: wrong answers')).toBe(0);
      expect(figures.get('checked: right answers')).toBeGreaterThan(100);
      expect(figures.get('containers that did not end with 0')).toBe(0);
    }),
  3 * LIMIT_MS,
);
