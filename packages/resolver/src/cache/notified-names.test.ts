import { beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { encodeKey } from '@kube-dns/wire';
import { cname, CacheTestbed, SOA } from '../testing/cache-testbed.js';
import { addressRecords } from '../testing/messages.js';

const ZONE = encodeKey('zone');
/** More than are compared in one turn of the event loop. */
const MANY = 18_000;
let testbed: CacheTestbed;
beforeEach(() => {
  testbed = new CacheTestbed();
  testbed.create(1_000);
});

const A = addressRecords(30, '10.0.0.1');
const exist = (...names: string[]) => names.forEach((name) => testbed.store(name, A));
const notify = (name: string) => testbed.cache.dropNotified(encodeKey(name), ZONE);

describe('a name that changed', () => {
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
      testbed.deny(name, { authorities: [{ ...SOA, owner: 'zone' }] });
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
      testbed.store(name, [cname(name, to), { ...A[0]!, owner: to }]);
    leads('one.elsewhere', 'x.A.ns.Zone');
    leads('two.elsewhere', 'b.ns.zone');
    notify('a.ns.zone');
    expect(['one.elsewhere', 'two.elsewhere'].filter(testbed.has)).toEqual(['two.elsewhere']);
  });

  it('keeps replies that lead to its zone from outside out of the cache while they may be old', () => {
    const store = (name: string, to: string) =>
      testbed.store(name, [cname(name, to), { ...A[0]!, owner: to }]);
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
