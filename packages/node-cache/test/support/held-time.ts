import { afterEach, beforeEach, jest } from '@jest/globals';
import { held } from '@kube-dns/testkit';

const TIMERS = ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] as const;

/**
 * In each test of this file, clock and timers of this process, also those of the part under test, go on by
 * `jest.advanceTimersByTime` alone. Sockets and `until` run on.
 */
export function holdTime(): void {
  beforeEach(() => void jest.useFakeTimers(held('performance', ...TIMERS)));
  afterEach(() => void jest.useRealTimers());
}
