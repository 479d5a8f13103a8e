import { expect, it } from '@jest/globals';
import { prove } from './prove-process.js';

const LIMIT_MS = 150_000;
/** The command itself wants 100 ms of a machine that has cores for all of it. */
const MAX_AGE_MS = 2_000;
/** Every kind of cut needs four of them: the long run has them. */
const SHORT = ['--minutes=0.6', '--faults=2', '--record-ttl=2', `--max-age=${MAX_AGE_MS}`];

it(
  'no answer is older than what was told, or than its TTL, while the pod is cut, frozen and restarted',
  async () => {
    const { figures } = await prove(['oracle', ...SHORT, '--qps=250', '--churn=60'], LIMIT_MS);
    for (const time of ['subscribed', 'disturbed']) {
      expect(figures.get(`${time}: answers`)).toBeGreaterThan(500);
      expect(figures.get(`${time}: that were never right`)).toBe(0);
    }
    for (const kind of ['positive', 'negative']) {
      expect(figures.get(`subscribed: oldest ${kind} answer`)).toBeLessThan(MAX_AGE_MS);
      expect(figures.get(`disturbed: oldest ${kind} answer`)).toBeLessThan(MAX_AGE_MS + 15_500);
    }
    for (const fault of ['cut', 'freeze', 'restart']) {
      expect(figures.get(`times of ${fault}`)).toBe(2);
    }
  },
  LIMIT_MS + 5_000,
);
