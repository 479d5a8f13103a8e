import { beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { cname, CacheTestbed } from '../testing/cache-testbed.js';
import { storeReply } from '../testing/cached-answers.js';
import { addressRecords, keyOf } from '../testing/messages.js';

/** More than are compared with two domains in one turn of the event loop. */
const MANY = 20_000;
let testbed: CacheTestbed;

beforeEach(() => {
  testbed = new CacheTestbed();
});

describe('the size of the cache', () => {
  it('counts records, not answers', () => {
    testbed.store('a.example', addressRecords(30, '10.0.0.1', '10.0.0.2', '10.0.0.3'));
    testbed.store('b.example', addressRecords(30, '10.0.0.4'));
    expect(testbed.cache.recordCount).toBe(4);
    expect(testbed.cache.insertions).toBe(4);
  });

  it('is never exceeded: the least recently used answers are evicted', () => {
    testbed.create(4);
    for (const name of ['a', 'b', 'c', 'd']) testbed.store(name, addressRecords(30, '10.0.0.1'));
    testbed.store('e', addressRecords(30, '10.0.0.1', '10.0.0.2'));
    expect(['a', 'b', 'c', 'd', 'e'].filter(testbed.has)).toEqual(['c', 'd', 'e']);
    expect(testbed.cache.recordCount).toBe(4);
    expect(testbed.cache.evictions).toBe(2);
  });

  it('counts a hit as use', () => {
    testbed.create(2);
    testbed.store('a', addressRecords(30, '10.0.0.1'));
    testbed.store('b', addressRecords(30, '10.0.0.1'));
    expect(testbed.has('a')).toBe(true);
    testbed.store('c', addressRecords(30, '10.0.0.1'));
    expect(['a', 'b', 'c'].filter(testbed.has)).toEqual(['a', 'c']);
  });

  it('counts as evicted answers, not records', () => {
    testbed.create(3);
    testbed.store('a', addressRecords(30, '10.0.0.1', '10.0.0.2', '10.0.0.3'));
    testbed.store('b', addressRecords(30, '10.0.0.1'));
    expect(testbed.cache.evictions).toBe(1);
    expect(testbed.cache.recordCount).toBe(1);
  });

  it('is at most half for expired answers where others need the room', () => {
    testbed.create(8, { maxStaleSeconds: 3_600, staleTtlSeconds: 30 });
    const old = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const name of ['x', 'y']) testbed.store(name, addressRecords(300, '10.0.0.1'));
    for (const name of old) testbed.store(name, addressRecords(5, '10.0.0.1'));
    testbed.now += 5;
    testbed.store('z', addressRecords(300, '10.0.0.1'));
    expect([...old, 'x', 'y', 'z'].filter(testbed.has)).toEqual([...old.slice(2), 'x', 'y', 'z']);
    expect(testbed.cache.evictions).toBe(0);
  });

  it('counts as evicted only unexpired answers', () => {
    testbed.create(2);
    testbed.store('a', addressRecords(5, '10.0.0.1'));
    testbed.store('b', addressRecords(30, '10.0.0.1'));
    testbed.now += 5;
    testbed.store('c', addressRecords(30, '10.0.0.1'));
    expect(testbed.cache.evictions).toBe(0);
    expect(testbed.has('b')).toBe(true);
    testbed.store('d', addressRecords(30, '10.0.0.1'));
    expect(testbed.cache.evictions).toBe(1);
  });

  it('is too small for an answer of more records, which leaves the others alone', () => {
    testbed.create(2);
    testbed.store('a', addressRecords(30, '10.0.0.1'));
    testbed.store('b', addressRecords(30, '10.0.0.1', '10.0.0.2', '10.0.0.3'));
    expect(['a', 'b'].filter(testbed.has)).toEqual(['a']);
    expect(testbed.cache.insertions).toBe(1);
  });

  it('can be 0: nothing is cached', () => {
    testbed.create(0);
    testbed.store('a', addressRecords(30, '10.0.0.1'));
    expect(testbed.has('a')).toBe(false);
    expect(testbed.cache.insertions).toBe(0);
  });
});

describe('dropping a domain', () => {
  const names = ['example', 'a.example', 'b.a.example', 'c.b.a.example', 'xa.example', 'a.other'];
  const cachedNames = () => names.filter(testbed.has);

  it('removes the domain and the names below, and nothing else', () => {
    for (const name of names) testbed.store(name, addressRecords(30, '10.0.0.1'));
    testbed.cache.dropBelow(keyOf('a.example'));
    expect(cachedNames()).toEqual(['example', 'xa.example', 'a.other']);
    expect(testbed.cache.recordCount).toBe(3);
    expect(testbed.cache.evictions).toBe(0);
  });

  it('of the root removes all', () => {
    for (const name of names) testbed.store(name, addressRecords(30, '10.0.0.1'));
    testbed.cache.dropBelow(Uint8Array.of(0));
    expect(cachedNames()).toEqual([]);
  });

  it('drops every answer with a CNAME that leads there, and no other', () => {
    testbed.store('a.other', [
      cname('a.other', 'A.Example'),
      { ...addressRecords(30, '10.0.0.1')[0]!, owner: 'A.Example' },
    ]);
    testbed.store('xa.example', [
      cname('xa.example', 'b.other'),
      { ...addressRecords(30, '10.0.0.1')[0]!, owner: 'b.other' },
    ]);
    testbed.cache.dropBelow(keyOf('a.example'));
    expect(cachedNames()).toEqual(['xa.example']);
  });

  it('applies immediately in a large cache, is removed in turns, and spares later answers', async () => {
    testbed.create(100_000);
    const count = MANY;
    for (let i = 0; i < count; i++)
      testbed.store(`n${i}.a.example`, addressRecords(30, '10.0.0.1'));
    testbed.store('a.other', addressRecords(30, '10.0.0.1'));
    testbed.cache.dropBelow(keyOf('a.example'));
    testbed.cache.dropBelow(keyOf('b.example'));
    const left = testbed.cache.entryCount;
    expect(left).toBeGreaterThan(1);
    expect([0, count / 2, count - 1].filter((i) => testbed.has(`n${i}.a.example`))).toEqual([]);
    testbed.store('new.a.example', addressRecords(30, '10.0.0.1'));
    await until(() => testbed.cache.entryCount === 2);
    expect(testbed.has('new.a.example')).toBe(true);
    expect(testbed.has('a.other')).toBe(true);
  });

  it('ends with the cache', async () => {
    testbed.create(100_000);
    for (let i = 0; i < MANY; i++) testbed.store(`n${i}.a.example`, addressRecords(30, '10.0.0.1'));
    testbed.cache.dropBelow(keyOf('a.example'));
    testbed.cache.close();
    testbed.cache.close();
    const left = testbed.cache.entryCount;
    await new Promise((resolve) => setImmediate(resolve));
    expect(testbed.cache.entryCount).toBe(left);
  });
});

describe('the memory of the cache', () => {
  const longName = (i: number) => `${'x'.repeat(60)}.${'y'.repeat(60)}.${'z'.repeat(60)}.n${i}`;

  it('is bounded, whatever the answers: large ones are evicted sooner', () => {
    testbed.create(1_000);
    const text = {
      type: 'TXT',
      ttl: 30,
      data: Array.from({ length: 16 }, () => 'x'.repeat(250)),
    } as const;
    for (let i = 0; i < 600; i++) {
      const question = { name: longName(i), type: 'TXT' };
      storeReply(testbed.cache, question, { answers: [text] }, { isExtraType: () => true });
    }
    expect(testbed.cache.usedBytes).toBeLessThanOrEqual(512 * 1_000);
    expect(testbed.cache.takenBytes).toBeLessThan(1_000_000);
    expect(testbed.has(longName(1))).toBe(false);
    expect(testbed.ask(longName(599), 'TXT')).toBeDefined();
  });

  it('of 10,000 names of a cluster is less than 3 MiB', () => {
    testbed.create(10_000);
    for (let i = 0; i < 10_000; i++) {
      testbed.store(
        `service-${i}.namespace-${i % 50}.svc.cluster.local`,
        addressRecords(30, '10.0.0.1'),
      );
    }
    expect(testbed.cache.entryCount).toBe(10_000);
    expect(testbed.cache.takenBytes).toBeLessThan(3 * 1024 * 1024);
  });

  it('is released when answers are removed', () => {
    testbed.create(50);
    for (let i = 0; i < 50; i++) testbed.store(longName(i), addressRecords(30, '10.0.0.1'));
    const { takenBytes } = testbed.cache;
    for (let i = 50; i < 1_000; i++) testbed.store(longName(i), addressRecords(30, '10.0.0.1'));
    expect(testbed.cache.takenBytes).toBe(takenBytes);
  });
});

describe('clearing', () => {
  it('empties the cache and starts its counters again', () => {
    testbed.create(1);
    testbed.store('a', addressRecords(30, '10.0.0.1'));
    testbed.store('b', addressRecords(30, '10.0.0.1'));
    testbed.cache.clear();
    expect(testbed.has('b')).toBe(false);
    expect([testbed.cache.recordCount, testbed.cache.insertions, testbed.cache.evictions]).toEqual([
      0, 0, 0,
    ]);
    testbed.store('c', addressRecords(30, '10.0.0.1'));
    expect(testbed.has('c')).toBe(true);
  });

  it('leaves nothing in the order of use: the first answer stored then is the first to be evicted', () => {
    testbed.create(2);
    for (const name of ['a', 'b']) testbed.store(name, addressRecords(30, '10.0.0.1'));
    testbed.cache.clear();
    for (const name of ['c', 'd', 'e']) testbed.store(name, addressRecords(30, '10.0.0.1'));
    expect(['a', 'b', 'c', 'd', 'e'].filter(testbed.has)).toEqual(['d', 'e']);
    expect(testbed.cache.evictions).toBe(1);
  });

  it('leaves every place free once', () => {
    testbed.create(1_000);
    const names = Array.from({ length: 400 }, (_, i) => `n${i}`);
    for (const name of names.slice(0, 10)) testbed.store(name, addressRecords(30, '10.0.0.1'));
    testbed.cache.clear();
    for (const name of names) testbed.store(name, addressRecords(30, '10.0.0.1'));
    expect(names.filter((name) => !testbed.has(name))).toEqual([]);
    expect(testbed.cache.entryCount).toBe(400);
  });
});

describe('a cache that counts answers', () => {
  it('has as many answers as its size, with however many records each', () => {
    const testbed = new CacheTestbed();
    testbed.create(2, { countsAnswers: true });
    const addresses = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];
    for (const name of ['a.example', 'b.example', 'c.example']) {
      testbed.store(name, addressRecords(30, ...addresses));
    }
    expect(testbed.cache.entryCount).toBe(2);
    expect(testbed.ask('a.example')).toBeUndefined();
    expect(testbed.ask('c.example')?.texts).toHaveLength(3);
  });

  it('says how many of them have no records', () => {
    const testbed = new CacheTestbed();
    testbed.store('a.example', addressRecords(30, '10.0.0.1'));
    testbed.deny('b.example');
    testbed.deny('c.example');
    expect(testbed.cache).toMatchObject({ entryCount: 3, denialCount: 2 });
    testbed.store('b.example', addressRecords(30, '10.0.0.1'));
    expect(testbed.cache).toMatchObject({ entryCount: 3, denialCount: 1 });
    testbed.cache.clear();
    expect(testbed.cache.denialCount).toBe(0);
  });
});
