import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { encodeKey } from '@kube-dns/wire';
import { ZoneNews } from './zone-news.js';

/** What a listener was told: names, or a flush, and the serial. */
type Told = readonly [names: readonly Uint8Array[] | 'flush', serial: number];

let told: Told[];
let news: ZoneNews<'configuration'>;
const listener = (to: Told[]) => ({
  onChanged: (...changed: Told) => to.push(changed),
  onFlush: (serial: number) => to.push(['flush', serial]),
});
beforeEach(() => {
  told = [];
  news = new ZoneNews(['configuration']);
  news.listen(listener(told));
});
afterEach(() => news.close());

const add = (...names: string[]) => {
  for (const name of names) news.add(encodeKey(name));
};
const manyNames = (count: number, label: string) =>
  Array.from({ length: count }, (_, i) => `${label}${i}.default.svc.cluster.local`);

describe('ZoneNews', () => {
  it('tells the names of a turn together, each once, with serials that continue', async () => {
    add('a.b', 'c.d', 'a.b');
    await until(() => told.length === 1);
    add('e.f');
    await until(() => told.length === 2);
    expect(told).toEqual([
      [[encodeKey('a.b'), encodeKey('c.d')], 2],
      [[encodeKey('e.f')], 3],
    ]);
  });

  it('tells what changes within 3 ms of a message together after them', () => {
    jest.useFakeTimers();
    try {
      add('a.b');
      jest.advanceTimersByTime(0);
      expect(told).toHaveLength(1);
      add('c.d');
      jest.advanceTimersByTime(2);
      add('e.f');
      expect(told).toHaveLength(1);
      jest.advanceTimersByTime(1);
      expect(told[1]).toEqual([[encodeKey('c.d'), encodeKey('e.f')], 3]);
      jest.advanceTimersByTime(10);
      add('g.h');
      jest.advanceTimersByTime(0);
      expect(told).toHaveLength(3);
    } finally {
      jest.useRealTimers();
    }
  });

  it('tells more than 256 names of 20 ms as one flush after them', async () => {
    news.close();
    // A loaded machine would take longer.
    let nowMs = 0;
    news = new ZoneNews(['configuration'], () => nowMs);
    news.listen(listener(told));
    add(...manyNames(200, 'a'));
    await until(() => told.length === 1);
    add(...manyNames(100, 'b'));
    await until(() => told.length === 2);
    expect(told[0]).toMatchObject([{ length: 200 }, 2]);
    expect(told[1]).toEqual(['flush', 3]);
    expect(news.flushes['many-changes']).toBe(1);
    nowMs += 20;
    add('later');
    await until(() => told.length === 3);
    expect(told[2]).toEqual([[encodeKey('later')], 4]);
  });

  it('counts the seconds from the first change to its message', () => {
    jest.useFakeTimers();
    try {
      let nowMs = 0;
      const timed = new ZoneNews(['configuration'], () => nowMs);
      timed.listen(listener([]));
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
    const others: Told[] = [];
    const other = listener(others);
    news.listen(other);
    add('a.b');
    await until(() => others.length === 1);
    news.flush('configuration');
    expect(others).toEqual(told);
    news.leave(other);
    expect(news.isWatched).toBe(true);
    news.flush('configuration');
    expect([told.length, others.length]).toEqual([3, 2]);
  });

  it('tells nothing while no one listens', () => {
    jest.useFakeTimers();
    try {
      news.close();
      add('a.b');
      news.flush('configuration');
      expect(jest.getTimerCount()).toBe(0);
      expect(told).toEqual([]);
      expect(news.serial).toBe(1);
    } finally {
      jest.useRealTimers();
    }
  });
});
