import { beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { alias, CacheBed } from '../../test/cache-bed.js';
import { storeReply } from '../../test/cached-answers.js';
import { addressRecords, keyOf } from '../../test/messages.js';

let bed: CacheBed;

beforeEach(() => {
  bed = new CacheBed();
});

describe('the size of the cache', () => {
  it('counts records, not answers', () => {
    bed.store('a.example', addressRecords(30, '10.0.0.1', '10.0.0.2', '10.0.0.3'));
    bed.store('b.example', addressRecords(30, '10.0.0.4'));
    expect(bed.cache.recordCount).toBe(4);
    expect(bed.cache.insertions).toBe(4);
  });

  it('is never exceeded: the answers longest unused leave', () => {
    bed.create(4);
    for (const name of ['a', 'b', 'c', 'd']) bed.store(name, addressRecords(30, '10.0.0.1'));
    bed.store('e', addressRecords(30, '10.0.0.1', '10.0.0.2'));
    expect(['a', 'b', 'c', 'd', 'e'].filter(bed.has)).toEqual(['c', 'd', 'e']);
    expect(bed.cache.recordCount).toBe(4);
    expect(bed.cache.evictions).toBe(2);
  });

  it('counts a hit as use', () => {
    bed.create(2);
    bed.store('a', addressRecords(30, '10.0.0.1'));
    bed.store('b', addressRecords(30, '10.0.0.1'));
    expect(bed.has('a')).toBe(true);
    bed.store('c', addressRecords(30, '10.0.0.1'));
    expect(['a', 'b', 'c'].filter(bed.has)).toEqual(['a', 'c']);
  });

  it('counts as evicted answers, not records', () => {
    bed.create(3);
    bed.store('a', addressRecords(30, '10.0.0.1', '10.0.0.2', '10.0.0.3'));
    bed.store('b', addressRecords(30, '10.0.0.1'));
    expect(bed.cache.evictions).toBe(1);
    expect(bed.cache.recordCount).toBe(1);
  });

  it('counts as evicted only what had time left', () => {
    bed.create(2);
    bed.store('a', addressRecords(5, '10.0.0.1'));
    bed.store('b', addressRecords(30, '10.0.0.1'));
    bed.now += 5;
    bed.store('c', addressRecords(30, '10.0.0.1'));
    expect(bed.cache.evictions).toBe(0);
    expect(bed.has('b')).toBe(true);
    bed.store('d', addressRecords(30, '10.0.0.1'));
    expect(bed.cache.evictions).toBe(1);
  });

  it('is too small for an answer of more records, which leaves the others alone', () => {
    bed.create(2);
    bed.store('a', addressRecords(30, '10.0.0.1'));
    bed.store('b', addressRecords(30, '10.0.0.1', '10.0.0.2', '10.0.0.3'));
    expect(['a', 'b'].filter(bed.has)).toEqual(['a']);
    expect(bed.cache.insertions).toBe(1);
  });

  it('can be 0: nothing is cached', () => {
    bed.create(0);
    bed.store('a', addressRecords(30, '10.0.0.1'));
    expect(bed.has('a')).toBe(false);
    expect(bed.cache.insertions).toBe(0);
  });
});

describe('dropping a domain', () => {
  const names = ['example', 'a.example', 'b.a.example', 'c.b.a.example', 'xa.example', 'a.other'];
  const known = () => names.filter(bed.has);

  it('forgets the domain and what is below, and nothing else', () => {
    for (const name of names) bed.store(name, addressRecords(30, '10.0.0.1'));
    bed.cache.dropBelow(keyOf('a.example'));
    expect(known()).toEqual(['example', 'xa.example', 'a.other']);
    expect(bed.cache.recordCount).toBe(3);
    expect(bed.cache.evictions).toBe(0);
  });

  it('of the root forgets all', () => {
    for (const name of names) bed.store(name, addressRecords(30, '10.0.0.1'));
    bed.cache.dropBelow(Uint8Array.of(0));
    expect(known()).toEqual([]);
  });

  it('drops every answer with a CNAME, which may lead there', () => {
    bed.store('a.other', [
      alias('a.other', 'a.example'),
      { ...addressRecords(30, '10.0.0.1')[0]!, owner: 'a.example' },
    ]);
    bed.cache.dropBelow(keyOf('a.example'));
    expect(known()).toEqual([]);
  });

  it('applies immediately in a large cache, is removed in turns, and spares later answers', async () => {
    bed.create(100_000);
    const count = 40_000;
    for (let i = 0; i < count; i++) bed.store(`n${i}.a.example`, addressRecords(30, '10.0.0.1'));
    bed.store('a.other', addressRecords(30, '10.0.0.1'));
    bed.cache.dropBelow(keyOf('a.example'));
    bed.cache.dropBelow(keyOf('b.example'));
    const left = bed.cache.entryCount;
    expect(left).toBeGreaterThan(1);
    expect([0, count / 2, count - 1].filter((i) => bed.has(`n${i}.a.example`))).toEqual([]);
    bed.store('new.a.example', addressRecords(30, '10.0.0.1'));
    await until(() => bed.cache.entryCount === 2);
    expect(bed.has('new.a.example')).toBe(true);
    expect(bed.has('a.other')).toBe(true);
  });

  it('ends with the cache', async () => {
    bed.create(100_000);
    for (let i = 0; i < 40_000; i++) bed.store(`n${i}.a.example`, addressRecords(30, '10.0.0.1'));
    bed.cache.dropBelow(keyOf('a.example'));
    bed.cache.close();
    bed.cache.close();
    const left = bed.cache.entryCount;
    await new Promise((resolve) => setImmediate(resolve));
    expect(bed.cache.entryCount).toBe(left);
  });
});

describe('the memory of the cache', () => {
  const longName = (i: number) => `${'x'.repeat(60)}.${'y'.repeat(60)}.${'z'.repeat(60)}.n${i}`;

  it('is bounded, whatever the answers: large ones leave sooner', () => {
    bed.create(1_000);
    const text = {
      type: 'TXT',
      ttl: 30,
      data: Array.from({ length: 16 }, () => 'x'.repeat(250)),
    } as const;
    for (let i = 0; i < 2_000; i++) {
      const question = { name: longName(i), type: 'TXT' };
      storeReply(bed.cache, question, { answers: [text] }, { isExtraType: () => true });
    }
    expect(bed.cache.usedBytes).toBeLessThanOrEqual(512 * 1_000);
    expect(bed.cache.takenBytes).toBeLessThan(1_000_000);
    expect(bed.has(longName(1))).toBe(false);
    expect(bed.ask(longName(1_999), 'TXT')).toBeDefined();
  });

  it('of 10,000 names of a cluster is less than 3 MiB', () => {
    bed.create(10_000);
    for (let i = 0; i < 10_000; i++) {
      bed.store(
        `service-${i}.namespace-${i % 50}.svc.cluster.local`,
        addressRecords(30, '10.0.0.1'),
      );
    }
    expect(bed.cache.entryCount).toBe(10_000);
    expect(bed.cache.takenBytes).toBeLessThan(3 * 1024 * 1024);
  });

  it('is released when answers are removed', () => {
    bed.create(50);
    for (let i = 0; i < 50; i++) bed.store(longName(i), addressRecords(30, '10.0.0.1'));
    const { takenBytes } = bed.cache;
    for (let i = 50; i < 5_000; i++) bed.store(longName(i), addressRecords(30, '10.0.0.1'));
    expect(bed.cache.takenBytes).toBe(takenBytes);
  });
});

describe('clearing', () => {
  it('empties the cache and starts its counters again', () => {
    bed.create(1);
    bed.store('a', addressRecords(30, '10.0.0.1'));
    bed.store('b', addressRecords(30, '10.0.0.1'));
    bed.cache.clear();
    expect(bed.has('b')).toBe(false);
    expect([bed.cache.recordCount, bed.cache.insertions, bed.cache.evictions]).toEqual([0, 0, 0]);
    bed.store('c', addressRecords(30, '10.0.0.1'));
    expect(bed.has('c')).toBe(true);
  });

  it('leaves nothing in the order of use: the first answer stored then is the first to be evicted', () => {
    bed.create(2);
    for (const name of ['a', 'b']) bed.store(name, addressRecords(30, '10.0.0.1'));
    bed.cache.clear();
    for (const name of ['c', 'd', 'e']) bed.store(name, addressRecords(30, '10.0.0.1'));
    expect(['a', 'b', 'c', 'd', 'e'].filter(bed.has)).toEqual(['d', 'e']);
    expect(bed.cache.evictions).toBe(1);
  });

  it('leaves every place free once', () => {
    bed.create(1_000);
    const names = Array.from({ length: 400 }, (_, i) => `n${i}`);
    for (const name of names.slice(0, 10)) bed.store(name, addressRecords(30, '10.0.0.1'));
    bed.cache.clear();
    for (const name of names) bed.store(name, addressRecords(30, '10.0.0.1'));
    expect(names.filter((name) => !bed.has(name))).toEqual([]);
    expect(bed.cache.entryCount).toBe(400);
  });
});
