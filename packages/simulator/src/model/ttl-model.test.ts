import { describe, expect, it } from '@jest/globals';
import { type TimedRecord, wrongTtl } from './ttl-model.js';

const ZONE = 'cluster.local';
const WEB = 'web.shop.svc.cluster.local';
const record = (type: string, name: string, ttl: number): TimedRecord => ({ type, name, ttl });

describe('TTLs', () => {
  it.each([
    ['of the zone, from kubedns', [record('A', WEB, 30), record('A', WEB, 30)], false],
    ['of the zone, from a cache', [record('A', WEB, 2)], true],
    ['of a denial', [record('SOA', ZONE, 5)], false],
    ['of an alias and its target', [record('CNAME', WEB, 30), record('A', 'x.example', 60)], false],
  ])('are right %s', (_name, records, isCached) => {
    expect(wrongTtl(records, ZONE, isCached)).toBeUndefined();
  });

  it.each([
    ['above that of the zone', [record('A', WEB, 31)], true, 'right are 30 s at most'],
    ['of an old answer of kubedns', [record('A', WEB, 29)], false, 'right are 30 s'],
    ['of a long denial', [record('SOA', ZONE, 30)], true, 'right are 5 s at most'],
    ['of a set that differ', [record('A', WEB, 9), record('A', WEB.toUpperCase(), 8)], true, 'another one of its set 9 s'], // prettier-ignore
    ['above those outside', [record('A', 'x.example', 61)], true, 'right are 60 s at most'],
    ['of a reverse name in the zone', [{ ...record('PTR', '1.0.0.10.in-addr.arpa', 31), target: WEB }], true, 'right are 30 s at most'], // prettier-ignore
  ])('are wrong %s', (_name, records, isCached, text) => {
    expect(wrongTtl(records, ZONE, isCached)).toContain(text);
  });
});
