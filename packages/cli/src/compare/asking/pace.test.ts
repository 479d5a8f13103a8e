import { describe, expect, it } from '@jest/globals';
import type { Clock } from '@kube-dns/base';
import { Pace } from './pace.js';

/** Waiting takes as long as it is asked to, and `late` more, as timers do. */
function clock(late: number): Clock {
  let now = 0;
  return {
    now: () => now,
    after: (delayMs, action) => {
      now += delayMs + late;
      action();
      return () => undefined;
    },
  };
}

describe('the pace', () => {
  it.each([0, 1.5])(
    'grants no more turns than configured, with timers late by %d ms',
    async (late) => {
      const time = clock(late);
      const pace = new Pace(500, time);
      for (let turn = 0; turn < 1_000; turn++) await pace.turn();
      expect(time.now()).toBeGreaterThanOrEqual(1_996);
      expect(time.now()).toBeLessThan(2_010);
    },
  );
});
