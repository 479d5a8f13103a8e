import { describe, expect, it } from '@jest/globals';
import { ApiError } from '../errors.js';
import { RetryPauses } from './retry-pauses.js';
import { DEFAULT_PACE } from './watch-pace.js';

const GONE = new ApiError(410, 'the version is too old');
const DOWN = new ApiError(0, 'connection refused');

function start(random = 1) {
  const clock = { ms: 1_000 };
  const pauses = new RetryPauses({
    pace: DEFAULT_PACE,
    random: () => random,
    now: () => clock.ms,
  });
  /** A watch that is open for so long, with a change or without. */
  const watch = (lastsMs: number, hasChange = false): number => {
    pauses.noteOpen();
    if (hasChange) pauses.noteChange();
    clock.ms += lastsMs;
    pauses.noteEnd();
    return pauses.next();
  };
  const fail = (error: unknown = DOWN): number => {
    pauses.noteEnd();
    const pauseMs = pauses.next(error);
    clock.ms += pauseMs;
    return pauseMs;
  };
  return { clock, pauses, watch, fail };
}

describe('RetryPauses', () => {
  it('has no pause after any of 20 watches that end one second apart', () => {
    const { watch } = start();
    expect(Array.from({ length: 20 }, () => watch(1_000))).toEqual(Array(20).fill(0));
    expect(Array.from({ length: 20 }, () => watch(600, true))).toEqual(Array(20).fill(0));
  });

  it('has growing pauses only while tries fail, from 50 ms to 30 s', () => {
    const { watch, fail } = start();
    expect(watch(1_000)).toBe(0);
    const failed = Array.from({ length: 12 }, () => fail());
    expect(failed.slice(0, 5)).toEqual([50, 100, 200, 400, 800]);
    expect(failed.slice(-2)).toEqual([30_000, 30_000]);
    expect(watch(1_000)).toBe(0);
    expect(fail()).toBe(50);
  });

  it('has a pause after the first failure of all: nothing has worked yet', () => {
    expect(start().fail()).toBe(50);
  });

  it('finds a server within the time for which it was away, and as little as 50 ms', () => {
    const { watch, fail, clock } = start();
    for (const awayMs of [20, 300, 1_000, 4_000, 14_000]) {
      expect(watch(1_000)).toBe(0);
      const backMs = clock.ms + awayMs;
      while (clock.ms < backMs) fail();
      expect(clock.ms - backMs).toBeLessThanOrEqual(awayMs + 50);
    }
  });

  it('has pauses for a server that ends every watch immediately, also with a change in each', () => {
    const silent = start(0);
    const pauses = Array.from({ length: 5 }, () => silent.watch(1));
    expect(pauses).toEqual([25, 50, 100, 200, 400]);
    const lively = start(0);
    const tries = Array.from({ length: 1_000 }, () => (lively.clock.ms += lively.watch(1, true)));
    expect(tries.at(-1)! - tries[0]!).toBeGreaterThan(90_000);
  });

  it('lists at once when the version is gone, but not again and again', () => {
    const { watch, fail } = start();
    expect([fail(GONE), fail(GONE), fail(GONE)]).toEqual([0, 50, 100]);
    expect(watch(1_000)).toBe(0);
    expect([fail(GONE), fail(GONE)]).toEqual([0, 50]);
  });

  it('waits as long as the server requests, also after a watch that worked', () => {
    const { watch, fail } = start();
    watch(1_000);
    expect(fail(new ApiError(429, 'too many requests', 5_000))).toBe(5_000);
    expect(fail(new ApiError(410, 'expired', 2_000))).toBe(2_000);
  });
});
