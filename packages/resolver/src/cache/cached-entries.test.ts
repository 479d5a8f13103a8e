import { describe, expect, it, jest } from '@jest/globals';
import { RCODE, TYPE } from '@kube-dns/wire';
import { addressRecords, keyOf, storeReply } from '../testing/index.js';
import { CacheTestbed, cname } from '../testing/cache-testbed.js';
import type { CachedEntry } from './answer-cache.js';

const bed = new CacheTestbed();

function find(name: string, type: number = TYPE.A): CachedEntry | undefined {
  const key = keyOf(name);
  return bed.cache.inspect(key, key.length, type);
}

describe('looking at a cached answer', () => {
  it('shows its age, what is left of its TTL, and its records', () => {
    bed.create(10);
    const owner = 'b.x';
    const addresses = addressRecords(100, '10.0.0.1', '10.0.0.2').map((each) => ({
      ...each,
      owner,
    }));
    bed.store('a.x', [cname('a.x', owner), ...addresses]);
    bed.now += 40;
    expect(find('a.x')).toMatchObject({
      state: 'fresh',
      rcode: RCODE.NOERROR,
      isNegative: false,
      cnames: 1,
      records: 2,
      ageSeconds: 40,
      lifetimeSeconds: 100,
      secondsLeft: 60,
      expiredSeconds: 0,
      hits: undefined,
      isPrefetched: false,
      subscription: 0,
    });
    expect(find('a.x', TYPE.AAAA)).toBeUndefined();
    expect(find('none.x')).toBeUndefined();
  });

  it('shows NXDOMAIN to every type, and NODATA to one', () => {
    bed.create(10);
    bed.deny('gone.example');
    bed.deny('a.example', { rcode: RCODE.NOERROR });
    expect(find('gone.example', TYPE.SRV)).toMatchObject({
      isNxdomain: true,
      rcode: RCODE.NXDOMAIN,
    });
    const nodata = { isNxdomain: false, isNegative: true, records: 0 };
    expect(find('a.example')).toMatchObject(nodata);
    expect(find('a.example', TYPE.SRV)).toBeUndefined();
  });

  it('shows since when it has expired, and until when it is served', () => {
    bed.create(10, { maxStaleSeconds: 3_600 });
    bed.store('a.x', addressRecords(30, '10.0.0.1'));
    bed.now += 42;
    expect(find('a.x')).toMatchObject({
      state: 'expired',
      expiredSeconds: 12,
      staleSecondsLeft: 3_588,
      secondsLeft: -12,
    });
  });

  it('shows one that is gone as long as it is not removed, which looking does not do', () => {
    bed.create(10);
    bed.store('a.x', addressRecords(30, '10.0.0.1'));
    bed.now += 42;
    expect(find('a.x')).toMatchObject({ state: 'gone', expiredSeconds: 12, staleSecondsLeft: 0 });
    expect(find('a.x')).toBeDefined();
    expect(bed.cache.entryCount).toBe(1);
  });

  it('shows none that is being dropped', () => {
    bed.create(10);
    bed.store('a.x', addressRecords(30, '10.0.0.1'));
    bed.cache.dropBelow(keyOf('x'));
    expect(find('a.x')).toBeUndefined();
    bed.cache.close();
  });

  it('counts no hit, moves no entry and rotates no records', () => {
    bed.create(2, { countsHits: true });
    bed.store('a.x', addressRecords(30, '10.0.0.1'));
    bed.store('b.x', addressRecords(30, '10.0.0.2'));
    expect(bed.ask('b.x')).toBeDefined();
    for (let i = 0; i < 10; i++) find('a.x');
    expect(find('a.x')).toMatchObject({ hits: 0 });
    expect(find('b.x')).toMatchObject({ hits: 1 });
    // The least recently used one is still a.x.
    bed.store('c.x', addressRecords(30, '10.0.0.3'));
    expect([find('a.x'), find('b.x')]).toMatchObject([undefined, {}]);
  });
});

describe('counting the cached answers', () => {
  const zoneOf = (name: Uint8Array) => (name[1] === 0x61 ? 'a' : 'others');

  it('has numbers of each zone', async () => {
    bed.create(20, { maxStaleSeconds: 100, countsHits: true });
    bed.store('a.x', addressRecords(100, '10.0.0.1', '10.0.0.2'));
    bed.store('b.x', addressRecords(5, '10.0.0.1'));
    bed.deny('c.example');
    bed.ask('a.x');
    bed.now += 8;
    const counts = await bed.cache.countBy(zoneOf);
    expect(Object.fromEntries(counts)).toMatchObject({
      a: { entries: 1, records: 2, negative: 0, stale: 0, hits: 1 },
      others: { entries: 2, records: 2, negative: 1, stale: 1, hits: 0 },
    });
  });

  it('looks at each entry once, and lets queries have their turns meanwhile', async () => {
    const count = 2_000;
    bed.create(count);
    for (let i = 0; i < count; i++) {
      storeReply(bed.cache, { name: `n${i}.x` }, { answers: addressRecords(60, '10.0.0.1') });
    }
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'clearImmediate'] });
    let turns = 0;
    let isOver = false;
    const note = () => {
      turns++;
      if (!isOver) setImmediate(note);
    };
    setImmediate(note);
    let looks = 0;
    const counts = await bed.cache.countBy(() => {
      looks++;
      // Fifty entries take a millisecond.
      if (looks % 50 === 0) jest.advanceTimersByTime(1);
      return 'all';
    });
    isOver = true;
    jest.useRealTimers();
    expect(counts.get('all')?.entries).toBe(count);
    expect(looks).toBe(count);
    // 5 ms each at the most, and 256 entries at the least.
    expect(turns).toBeGreaterThanOrEqual(Math.floor(count / 2 / 256));
  });
});
