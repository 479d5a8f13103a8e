import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { encodeKey } from '@kube-dns/wire';
import { ChangeFeed } from './change-feed.js';

/** What a listener was passed: names, or a flush, and the serial. */
type Passed = readonly [names: readonly Uint8Array[] | 'flush', serial: number];

let passed: Passed[];
let feed: ChangeFeed<'configuration'>;
const listener = (to: Passed[], receivers = 1) => ({
  receivers,
  onChanged: (...changed: Passed) => to.push(changed),
  onFlush: (serial: number) => to.push(['flush', serial]),
});
beforeEach(() => {
  passed = [];
  feed = new ChangeFeed(['configuration']);
  feed.observe(listener(passed));
});
afterEach(() => feed.close());

const add = (...names: string[]) => {
  for (const name of names) feed.add(encodeKey(name));
};
const manyNames = (count: number, label: string) =>
  Array.from({ length: count }, (_, i) => `${label}${i}.default.svc.cluster.local`);

describe('ChangeFeed', () => {
  it('announces the names of a turn together, each once, with serials that continue', async () => {
    add('a.b', 'c.d', 'a.b');
    await until(() => passed.length === 1);
    add('e.f');
    await until(() => passed.length === 2);
    expect(passed).toEqual([
      [[encodeKey('a.b'), encodeKey('c.d')], 2],
      [[encodeKey('e.f')], 3],
    ]);
  });

  it('announces what changes within 3 ms of a message together after them', () => {
    jest.useFakeTimers();
    try {
      add('a.b');
      jest.advanceTimersByTime(0);
      expect(passed).toHaveLength(1);
      add('c.d');
      jest.advanceTimersByTime(2);
      add('e.f');
      expect(passed).toHaveLength(1);
      jest.advanceTimersByTime(1);
      expect(passed[1]).toEqual([[encodeKey('c.d'), encodeKey('e.f')], 3]);
      jest.advanceTimersByTime(10);
      add('g.h');
      jest.advanceTimersByTime(0);
      expect(passed).toHaveLength(3);
    } finally {
      jest.useRealTimers();
    }
  });

  it('tells more than 1,024 names at once as one flush after them', async () => {
    feed.close();
    // A loaded machine would take longer.
    let nowMs = 0;
    feed = new ChangeFeed(['configuration'], () => nowMs);
    feed.observe(listener(passed));
    add(...manyNames(1_000, 'a'));
    await until(() => passed.length === 4);
    add(...manyNames(25, 'b'));
    await until(() => passed.length === 5);
    expect(passed[3]).toMatchObject([{ length: 1_000 - 3 * 256 }, 5]);
    expect(passed[4]).toEqual(['flush', 6]);
    expect(feed.flushes['many-changes']).toBe(1);
    nowMs += 20;
    add('later');
    await until(() => passed.length === 6);
    expect(passed[5]).toEqual([[encodeKey('later')], 7]);
  });

  it('tells 256 names each 20 ms for ever, and more as a flush', () => {
    jest.useFakeTimers();
    try {
      for (let i = 0; i < 100; i++) {
        add(...manyNames(256, `a${i}`));
        jest.advanceTimersByTime(20);
      }
      expect(feed.flushes['many-changes']).toBe(0);
      for (let i = 0; i < 100; i++) {
        add(...manyNames(384, `b${i}`));
        jest.advanceTimersByTime(20);
      }
      expect(feed.flushes['many-changes']).toBeGreaterThan(10);
    } finally {
      jest.useRealTimers();
    }
  });

  it('collects for longer the more receive it: for 120 ms with 4,800, within the same number of names a second', () => {
    jest.useFakeTimers();
    try {
      feed.observe(listener([], 4_799));
      add('a.b');
      jest.advanceTimersByTime(0);
      expect(passed).toHaveLength(1);
      jest.advanceTimersByTime(40);
      add(...manyNames(600, 'b'));
      jest.advanceTimersByTime(79);
      expect(passed).toHaveLength(1);
      jest.advanceTimersByTime(1);
      // One message has 256 at most; each has a serial.
      const collected = passed.slice(1).map(([names, serial]) => [names.length, serial]);
      expect(collected).toEqual([
        [256, 3],
        [256, 4],
        [88, 5],
      ]);
      expect(passed.slice(1).flatMap(([names]): unknown => names)).toEqual(
        manyNames(600, 'b').map((name) => encodeKey(name)),
      );
      // As many as 256 in 20 ms.
      jest.advanceTimersByTime(120);
      add(...manyNames(6 * 256, 'c'));
      jest.advanceTimersByTime(0);
      expect(passed.slice(4).map(([names]) => names.length)).toEqual(Array(6).fill(256));
      jest.advanceTimersByTime(120);
      add(...manyNames(6 * 256 + 1, 'd'));
      jest.advanceTimersByTime(119);
      expect(passed).toHaveLength(10);
      jest.advanceTimersByTime(1);
      expect(passed.slice(10)).toEqual([['flush', 12]]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('collects for 100 ms without a receiver, or until it passes on what it has', () => {
    jest.useFakeTimers();
    try {
      feed.close();
      const alone = { ...listener(passed, 0) };
      feed.observe(alone);
      add('a.b');
      jest.advanceTimersByTime(0);
      add('c.d');
      jest.advanceTimersByTime(50);
      add('e.f');
      jest.advanceTimersByTime(49);
      expect(passed).toHaveLength(1);
      jest.advanceTimersByTime(1);
      expect(passed[1]?.[0]).toEqual([encodeKey('c.d'), encodeKey('e.f')]);
      expect(feed.lag.count).toBe(0);
      add('g.h');
      feed.passOn();
      expect(passed).toHaveLength(3);
      // From the first one on.
      alone.receivers = 1;
      add('i.j');
      jest.advanceTimersByTime(3);
      expect(passed).toHaveLength(4);
    } finally {
      jest.useRealTimers();
    }
  });

  it('counts the seconds from the first change to its message', () => {
    jest.useFakeTimers();
    try {
      let nowMs = 0;
      const timed = new ChangeFeed(['configuration'], () => nowMs);
      timed.observe(listener([]));
      timed.add(encodeKey('a.b'));
      nowMs = 3;
      timed.add(encodeKey('c.d'));
      jest.runAllTimers();
      expect([timed.lag.count, timed.lag.sum]).toEqual([1, 0.003]);
      nowMs = 100;
      for (const name of manyNames(300, 'b')) timed.add(encodeKey(name));
      nowMs = 120;
      jest.runAllTimers();
      expect([timed.lag.count, timed.lag.sum]).toEqual([2, 0.023]);
      timed.flush('configuration');
      expect(timed.lag.count).toBe(2);
      timed.close();
    } finally {
      jest.useRealTimers();
    }
  });

  it('tells the same to all who listen, until they leave', async () => {
    const others: Passed[] = [];
    const other = listener(others);
    feed.observe(other);
    add('a.b');
    await until(() => others.length === 1);
    feed.flush('configuration');
    expect(others).toEqual(passed);
    feed.leave(other);
    expect(feed.isObserved).toBe(true);
    feed.flush('configuration');
    expect([passed.length, others.length]).toEqual([3, 2]);
  });

  it('tells nothing while no one listens', () => {
    jest.useFakeTimers();
    try {
      feed.close();
      add('a.b');
      feed.flush('configuration');
      expect(jest.getTimerCount()).toBe(0);
      expect(passed).toEqual([]);
      expect(feed.serial).toBe(1);
    } finally {
      jest.useRealTimers();
    }
  });
});
