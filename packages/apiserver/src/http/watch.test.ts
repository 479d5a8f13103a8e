import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { startWatchTimers, type Bookmarks } from './watch.js';

let calls: string[];

beforeEach(() => {
  calls = [];
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

/** Starts the timers of a watch; each call is listed with its time in seconds. */
function start(timeoutSeconds: number, bookmarks: Bookmarks, bookmarkIntervalMs = 600_000) {
  const startMs = Date.now();
  const note = (what: string) => () => calls.push(`${(Date.now() - startMs) / 1_000} ${what}`);
  const [sendBookmark, end] = [note('bookmark'), note('end')];
  return startWatchTimers({ timeoutSeconds, bookmarks, bookmarkIntervalMs, sendBookmark, end });
}

describe('the timers of a watch', () => {
  it('send a last bookmark before they end it', () => {
    const stop = start(7, 'usual');
    jest.advanceTimersByTime(7_000);
    stop();
    expect(calls).toEqual(['7 bookmark', '7 end']);
  });

  it('send the last one two seconds before the end where bookmarks are rare', () => {
    const stop = start(7, 'rare');
    jest.advanceTimersByTime(7_000);
    stop();
    expect(calls).toEqual(['5 bookmark', '7 end']);
  });

  it.each([1, 2])('send none at the end of a watch of %d s where they are rare', (seconds) => {
    const stop = start(seconds, 'rare');
    jest.advanceTimersByTime(seconds * 1_000);
    stop();
    expect(calls).toEqual([`${seconds} end`]);
  });

  it('send one in each interval until they are stopped', () => {
    const stop = start(60, 'usual', 20_000);
    jest.advanceTimersByTime(50_000);
    stop();
    jest.advanceTimersByTime(50_000);
    expect(calls).toEqual(['20 bookmark', '40 bookmark']);
  });

  it('give a watch without a time half an hour to an hour, as kube-apiserver does', () => {
    const stop = start(0, 'usual', 10 * 3_600_000);
    jest.advanceTimersByTime(1_799_000);
    expect(calls).toEqual([]);
    jest.advanceTimersByTime(1_801_000);
    stop();
    expect(calls).toHaveLength(2);
  });
});
