import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { DSO_TYPE, type DsoTlv, encodeKey, readChanged, readSerialTlv } from '@kube-dns/wire';
import { ZoneNews } from './zone-news.js';

let told: DsoTlv[];
let news: ZoneNews;
beforeEach(() => {
  told = [];
  news = new ZoneNews((tlv) => told.push(tlv));
  news.isWatched = true;
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
    expect(told.map(({ data }) => readChanged(data))).toEqual([
      { before: 0, after: 1, names: [encodeKey('a.b'), encodeKey('c.d')] },
      { before: 1, after: 2, names: [encodeKey('e.f')] },
    ]);
  });

  it('tells more than 256 names of 20 ms as one flush after them', async () => {
    add(...manyNames(200, 'a'));
    await until(() => told.length === 1);
    add(...manyNames(100, 'b'));
    await until(() => told.length === 2);
    expect(told.map(({ type }) => type)).toEqual([DSO_TYPE.CHANGED, DSO_TYPE.FLUSH]);
    expect(readSerialTlv(told[1]!.data)).toBe(2);
    expect(news.flushes['many-changes']).toBe(1);
    add('later');
    await until(() => told.length === 3);
    expect(told[2]).toMatchObject({ type: DSO_TYPE.CHANGED });
  });

  it('counts the seconds from the first change to its message', () => {
    jest.useFakeTimers();
    try {
      const nows = [0, 3, 100, 120];
      const timed = new ZoneNews(
        () => undefined,
        () => nows.shift()!,
      );
      timed.isWatched = true;
      timed.add(encodeKey('a.b'));
      timed.add(encodeKey('c.d'));
      jest.runAllTimers();
      expect([timed.lag.count, timed.lag.sum]).toEqual([1, 0.003]);
      for (const name of manyNames(300, 'b')) timed.add(encodeKey(name));
      jest.runAllTimers();
      expect([timed.lag.count, timed.lag.sum]).toEqual([2, 0.023]);
      timed.flush('configuration');
      expect(timed.lag.count).toBe(2);
      timed.close();
    } finally {
      jest.useRealTimers();
    }
  });

  it('makes the reverse name of an address', async () => {
    news.addAddress({ size: 4, bytes: '\x0a\x00\x00\x01\x0a\x00\x00\x02' }, 4);
    await until(() => told.length === 1);
    expect(readChanged(told[0]!.data)?.names).toEqual([encodeKey('2.0.0.10.in-addr.arpa')]);
  });

  it('tells nothing while nobody listens', async () => {
    news.isWatched = false;
    add('a.b');
    news.flush('configuration');
    await delay(30);
    expect(told).toEqual([]);
    expect(news.serial).toBe(0);
  });
});
