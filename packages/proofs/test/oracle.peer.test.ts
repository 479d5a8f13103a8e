import { expect, it } from '@jest/globals';
import { prove } from './prove-process.js';

const LIMIT_MS = 300_000;
/** Every kind of cut needs four of them: the long run has them. */
const SHORT = ['--busy', '--minutes=0.1', '--faults=1', '--record-ttl=2'];

it(
  'no answer is one that was never right, while the pod is cut, frozen and restarted',
  async () => {
    const { figures, missed } = await prove(
      ['oracle', ...SHORT, '--qps=250', '--churn=60'],
      LIMIT_MS,
    );
    expect(missed).toEqual([]);
    for (const time of ['subscribed', 'disturbed']) {
      expect(figures.get(`${time}: answers`)).toBeGreaterThan(0);
      expect(figures.get(`${time}: that were never right`)).toBe(0);
    }
    for (const fault of ['cut', 'freeze', 'restart']) {
      expect(figures.get(`times of ${fault}`)).toBe(1);
    }
  },
  LIMIT_MS,
);
