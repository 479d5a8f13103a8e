import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { held } from '@kube-dns/testkit';
import { ApiError, StreamError } from '../errors.js';
import { DEFAULT_PACE, RetryPauses, Task, withLimit } from './pace.js';

const GONE = new ApiError(410, 'the version is too old');
const DOWN = new ApiError(0, 'connection refused');
const BROKEN = new ApiError(500, 'internal error');
const BUSY = new ApiError(429, 'too many requests', 1_000);

function start(random = 1) {
  const clock = { ms: 1_000 };
  const pauses = new RetryPauses(
    DEFAULT_PACE,
    () => random,
    () => clock.ms,
  );
  /** A watch that is open for so long, with a change or without. */
  const watch = (lastsMs: number, hasChange = false): number => {
    pauses.noteOpen();
    if (hasChange) pauses.noteChange();
    clock.ms += lastsMs;
    pauses.noteEnd('closed');
    return pauses.next();
  };
  const fail = (error: unknown = DOWN): number => {
    pauses.noteEnd('error');
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
    const failed = Array.from({ length: 12 }, () => fail(BROKEN));
    expect(failed.slice(0, 5)).toEqual([50, 100, 200, 400, 800]);
    expect(failed.slice(-2)).toEqual([30_000, 30_000]);
    expect(watch(1_000)).toBe(0);
    expect(fail(BROKEN)).toBe(50);
  });

  it('finding 1: has growing pauses where the handshake of TLS fails, as a handshake costs CPU', () => {
    const { watch, fail } = start();
    expect(watch(1_000)).toBe(0);
    const cause = Object.assign(new Error('no'), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
    const refused = new ApiError(0, 'no', 0, { cause });
    const failed = Array.from({ length: 12 }, () => fail(refused));
    expect(failed.slice(0, 5)).toEqual([50, 100, 200, 400, 800]);
    expect(failed.at(-1)).toBe(30_000);
  });

  it('has no pause above half a second without an answer, however long', () => {
    const { watch, fail, clock } = start();
    expect(watch(1_000)).toBe(0);
    const goneMs = clock.ms;
    const first: number[] = [];
    while (clock.ms < goneMs + 3_600_000) first.push(fail());
    expect(first.slice(0, 6)).toEqual([50, 100, 200, 400, 500, 500]);
    expect(Math.max(...first)).toBe(500);
    const silent = new StreamError('idle', 'no answer within 30000 ms');
    expect(fail(silent)).toBe(500);
  });

  it('has no pause above a quarter of a second where nothing listens, as a kernel refuses that', () => {
    const cause = Object.assign(new Error('no'), { code: 'ECONNREFUSED' });
    const { fail } = start();
    const pauses = Array.from({ length: 6 }, () => fail(new ApiError(0, 'no', 0, { cause })));
    expect(pauses).toEqual([50, 100, 200, 250, 250, 250]);
    expect([fail(), fail()]).toEqual([250, 500]);
  });

  it('begins a new outage after any answer: two restarts are two', () => {
    const { fail, clock } = start();
    for (let restart = 0; restart < 2; restart++) {
      expect(Array.from({ length: 5 }, () => fail())).toEqual([50, 100, 200, 400, 500]);
      expect(fail(BUSY)).toBe(1_100);
      clock.ms += 12_000;
    }
    for (let ms = 0; ms < 120_000; ms += fail()) expect(fail(BUSY)).toBe(1_100);
    expect(fail(BROKEN)).toBe(50);
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

  it.each([
    ['the version is gone', GONE],
    ['the cluster is another one', new StreamError('restored', 'another cluster')],
  ])('lists at once when %s, but not again and again', (_why, error) => {
    const { watch, fail } = start();
    expect([fail(error), fail(error), fail(error)]).toEqual([0, 50, 100]);
    expect(watch(1_000)).toBe(0);
    expect([fail(error), fail(error)]).toEqual([0, 50]);
  });

  it('lists at once after an outage whose end is that the version is gone', () => {
    const { watch, fail } = start();
    expect(watch(1_000)).toBe(0);
    expect([fail(), fail(), fail(BUSY), fail(GONE)]).toEqual([50, 100, 1_100, 0]);
  });

  it('waits as long as the server requests, up to a minute, and a tenth of that', () => {
    const soonest = start(0);
    expect(soonest.watch(1_000)).toBe(0);
    const tries = Array.from({ length: 20 }, () => soonest.fail(BUSY));
    expect(tries).toEqual(Array(20).fill(1_000));
    expect(soonest.fail(new ApiError(503, 'not ready', 1e15))).toBe(60_000);
    expect(soonest.fail(new ApiError(410, 'expired', 2_000))).toBe(2_000);
    expect(start(1).fail(BUSY)).toBe(1_100);
  });

  it.each(['gone', 'garbled'] as const)('grows while each watch ends as %s', (reason) => {
    const { pauses, clock } = start();
    const pausesMs = Array.from({ length: 5 }, () => {
      pauses.noteOpen();
      pauses.noteChange();
      clock.ms += 1_000;
      pauses.noteEnd(reason);
      return pauses.next(reason === 'gone' ? GONE : new StreamError('garbled', 'no JSON'));
    });
    const growing = [50, 100, 200, 400, 800];
    expect(pausesMs).toEqual(reason === 'gone' ? [0, ...growing.slice(0, 4)] : growing);
  });

  it('waits long after what will not change soon', () => {
    const { pauses } = start();
    expect(pauses.next(new ApiError(403, 'forbidden'), true)).toBe(DEFAULT_PACE.deniedPauseMs);
  });
});

beforeEach(() => void jest.useFakeTimers(held('performance')));
afterEach(() => void jest.useRealTimers());

describe('a pause', () => {
  it('ends after its time, with the task, or with the task around it', async () => {
    const around = new Task();
    const [long, aborted] = [new Task(around.signal), new Task(around.signal)];
    expect(await long.pause(1)).toBe(true);
    const pauses = [long.pause(60_000), aborted.pause(60_000)];
    aborted.abort();
    expect(await pauses[1]).toBe(false);
    expect(long.isAborted).toBe(false);
    around.abort();
    expect(await pauses[0]).toBe(false);
    expect(await long.pause(60_000)).toBe(false);
  });
});

describe('a time limit', () => {
  const forever = ({ signal }: Task) =>
    new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });

  it('ends what takes longer, with the problem', async () => {
    const { signal } = new Task();
    await expect(withLimit(signal, 5, 'no answer', forever)).rejects.toThrow(
      'no answer within 5 ms',
    );
  });

  it('ends with the task around it, for the reason of that', async () => {
    const around = new Task();
    const limited = withLimit(around.signal, 60_000, 'no answer', forever);
    around.abort(new Error('closed'));
    await expect(limited).rejects.toThrow('closed');
  });

  it('leaves alone what outlives it', async () => {
    const task = await withLimit(new Task().signal, 5, 'no answer', (limited) =>
      Promise.resolve(limited),
    );
    expect(await task.pause(20)).toBe(true);
  });
});
