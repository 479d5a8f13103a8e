import { afterEach, beforeEach, jest } from '@jest/globals';

/**
 * In each test of this file, clock and timers of this process, also those of the part under test, go on by
 * `jest.advanceTimersByTime` alone. Sockets and `until` run on.
 */
export function holdTime(): void {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate'] });
  });
  afterEach(() => void jest.useRealTimers());
}
