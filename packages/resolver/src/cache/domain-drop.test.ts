import { beforeEach, describe, expect, it } from '@jest/globals';
import { addressRecords, until } from '@kube-dns/testkit';
import { encodeKey } from '@kube-dns/wire';
import { cname, CacheTestbed, SOA } from '../testing/cache-testbed.js';
import { DomainDrop } from './domain-drop.js';
import type { EntryStore } from './entry-store.js';

/** More than are compared with two domains in one turn of the event loop. */
const MANY = 20_000;
let testbed: CacheTestbed;

beforeEach(() => {
  testbed = new CacheTestbed();
});

describe('dropping a domain', () => {
  const names = ['example', 'a.example', 'b.a.example', 'c.b.a.example', 'xa.example', 'a.other'];
  const cachedNames = () => names.filter(testbed.has);

  it('removes the domain and the names below, and nothing else', () => {
    for (const name of names) testbed.store(name, addressRecords(30, '10.0.0.1'));
    testbed.cache.dropBelow(encodeKey('a.example'));
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
      { ...addressRecords(30, '10.0.0.1')[0]!, name: 'A.Example' },
    ]);
    testbed.store('xa.example', [
      cname('xa.example', 'b.other'),
      { ...addressRecords(30, '10.0.0.1')[0]!, name: 'b.other' },
    ]);
    testbed.cache.dropBelow(encodeKey('a.example'));
    expect(cachedNames()).toEqual(['xa.example']);
  });

  it('applies immediately in a large cache, is removed in turns, and spares later answers', async () => {
    testbed.create(100_000);
    const count = MANY;
    for (let i = 0; i < count; i++)
      testbed.store(`n${i}.a.example`, addressRecords(30, '10.0.0.1'));
    testbed.store('a.other', addressRecords(30, '10.0.0.1'));
    testbed.cache.dropBelow(encodeKey('a.example'));
    testbed.cache.dropBelow(encodeKey('b.example'));
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
    testbed.cache.dropBelow(encodeKey('a.example'));
    testbed.cache.close();
    testbed.cache.close();
    const left = testbed.cache.entryCount;
    await new Promise((resolve) => setImmediate(resolve));
    expect(testbed.cache.entryCount).toBe(left);
  });
});

describe('a name that changed', () => {
  const ZONE = encodeKey('zone');
  const A = addressRecords(30, '10.0.0.1');
  const exist = (...names: string[]) => names.forEach((name) => testbed.store(name, A));
  const notify = (name: string) => testbed.cache.dropNotified(encodeKey(name), ZONE);

  beforeEach(() => testbed.create(1_000));

  it('drops itself and all below it, and nothing beside or above it', () => {
    const others = ['zone', 'ns.zone', 'b.ns.zone', 'xa.ns.zone', 'a.other', 'a.ns.zone.other'];
    exist('a.ns.zone', 'x.a.ns.zone', 'y.x.a.ns.zone', ...others);
    notify('a.ns.zone');
    const left = ['a.ns.zone', 'x.a.ns.zone', 'y.x.a.ns.zone', ...others].filter(testbed.has);
    expect(left).toEqual(others);
  });

  it('drops NXDOMAIN of itself, of what is below it, and of those above it in the zone', () => {
    const gone = ['a.ns.zone', 'x.a.ns.zone', 'ns.zone'];
    for (const name of [...gone, 'b.ns.zone', 'ms.zone']) {
      testbed.deny(name, { authorities: [{ ...SOA, name: 'zone' }] });
    }
    expect(gone.filter(testbed.has)).toEqual(gone);
    notify('a.ns.zone');
    expect(gone.filter(testbed.has)).toEqual([]);
    expect(['b.ns.zone', 'ms.zone'].filter(testbed.has)).toEqual(['b.ns.zone', 'ms.zone']);
  });

  it('drops the wildcards of the zone, and no others', () => {
    exist('*.other.zone', 'a.*.zone', '*.elsewhere');
    notify('a.ns.zone');
    expect(['*.other.zone', 'a.*.zone'].filter(testbed.has)).toEqual([]);
    expect(testbed.has('*.elsewhere')).toBe(true);
  });

  it('drops what a CNAME leads to it from, and no other CNAME', () => {
    const leads = (name: string, to: string) =>
      testbed.store(name, [cname(name, to), { ...A[0]!, name: to }]);
    leads('one.elsewhere', 'x.A.ns.Zone');
    leads('two.elsewhere', 'b.ns.zone');
    notify('a.ns.zone');
    expect(['one.elsewhere', 'two.elsewhere'].filter(testbed.has)).toEqual(['two.elsewhere']);
  });

  it('keeps replies that lead to its zone from outside out of the cache while they may be old', () => {
    const store = (name: string, to: string) =>
      testbed.store(name, [cname(name, to), { ...A[0]!, name: to }]);
    const stored = () => {
      store('one.elsewhere', 'B.ns.zone');
      store('two.elsewhere', 'a.elsewhere');
      store('alias.zone', 'b.ns.zone');
      return ['one.elsewhere', 'two.elsewhere', 'alias.zone'].filter(testbed.has);
    };
    notify('a.ns.zone');
    expect(stored()).toEqual(['two.elsewhere', 'alias.zone']);
    testbed.now += 10;
    expect(stored()).toEqual(['one.elsewhere', 'two.elsewhere', 'alias.zone']);
  });

  it('spares what is cached later, while it is still being dropped', async () => {
    testbed.create(100_000);
    for (let i = 0; i < MANY; i++) testbed.store(`n${i}.zone`, A);
    notify('n1.zone');
    expect(testbed.has('n1.zone')).toBe(false);
    testbed.store('n1.zone', A);
    expect(testbed.has('n1.zone')).toBe(true);
    await until(() => testbed.cache.entryCount === MANY);
    expect(testbed.has('n1.zone')).toBe(true);
  });

  it('among many in a large cache drops the zone, so that what waits stays little', async () => {
    testbed.create(100_000);
    exist('a.elsewhere');
    for (let i = 0; i < MANY; i++) testbed.store(`n${i}.zone`, A);
    for (let i = 0; i < 100; i++) notify(`n${i}.zone`);
    expect(testbed.has('n99.zone')).toBe(false);
    expect(testbed.has(`n${MANY - 1}.zone`)).toBe(false);
    await until(() => testbed.cache.entryCount === 1);
    expect(testbed.has('a.elsewhere')).toBe(true);
  });
});

const CAPACITY = 50_000;
const COMPARISONS_PER_TURN = 16_384;
const X = encodeKey('x');

/** The slots that were looked at; none is used. */
let looks: number[];
let drop: DomainDrop;

beforeEach(() => {
  looks = [];
  const isUsed = (slot: number) => {
    looks.push(slot);
    return false;
  };
  const table: Pick<EntryStore, 'capacity' | 'isUsed'> = { capacity: CAPACITY, isUsed };
  drop = new DomainDrop(table as EntryStore);
});

/** How many slots are looked at in each turn of the event loop, until it looks no more. */
async function looksOfTurns(): Promise<number[]> {
  const turns: number[] = [];
  for (;;) {
    const before = looks.length;
    await new Promise((resolve) => setImmediate(resolve));
    if (looks.length === before) return turns;
    turns.push(looks.length - before);
  }
}

/** Tells of so many names of a zone that they changed. */
function change(count: number): void {
  for (let i = 0; i < count; i++) drop.addChanged(encodeKey(`n${i}.x`), X, 0);
}

describe('what is dropped from a cache', () => {
  it('is looked for later, in a limited number of entries in each turn of the event loop', async () => {
    drop.add(X);
    expect(looks).toEqual([]);
    const turns = await looksOfTurns();
    expect(turns.slice(0, -1)).toEqual([16_384, 16_384, 16_384]);
    expect(looks).toEqual(Array.from({ length: CAPACITY }, (_, slot) => slot));
  });

  it('is looked for in one walk, however many names have changed in a turn', async () => {
    change(5_000);
    await looksOfTurns();
    expect(looks).toHaveLength(CAPACITY);
  });

  it('is compared as often in a turn, however many names have changed', async () => {
    change(16);
    expect((await looksOfTurns())[0]).toBe(COMPARISONS_PER_TURN / 16);
    change(5_000);
    // The zone is dropped in place of names that are too many.
    expect((await looksOfTurns())[0]).toBeGreaterThanOrEqual(COMPARISONS_PER_TURN / 16);
  });
});
