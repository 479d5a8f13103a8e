import { describe, expect, it } from '@jest/globals';
import { encodeKey } from '@kube-dns/wire';
import { hostRecords } from '../watch/projections.js';
import { HostIndex } from './host-index.js';

function claim(id: string, ip: string, created = 1) {
  const records = hostRecords([{ ip }], (reason) => {
    throw new Error(reason);
  });
  return { owner: { id, created }, records: records! };
}

function filled(...hosts: string[]): HostIndex {
  const index = new HostIndex();
  hosts.forEach((host, i) => index.put(host, claim(`Ingress a/${i}`, `192.0.2.${i + 1}`)));
  return index;
}

function found(index: HostIndex, name: string): string | undefined {
  const key = encodeKey(name);
  return index.find(key, key.length)?.host;
}

describe('HostIndex', () => {
  it.each([
    ['a host', ['app.example.com'], 'app.example.com', 'app.example.com'],
    ['nothing below a host', ['app.example.com'], 'x.app.example.com', undefined],
    ['nothing above a host', ['app.example.com'], 'example.com', undefined],
    ['a wildcard', ['*.example.com'], 'a.example.com', '*.example.com'],
    ['a wildcard over several labels', ['*.example.com'], 'a.b.example.com', '*.example.com'],
    ['never the apex of a wildcard', ['*.example.com'], 'example.com', undefined],
    ['the wildcard itself', ['*.example.com'], '*.example.com', '*.example.com'],
    [
      'the longest wildcard',
      ['*.example.com', '*.b.example.com'],
      'a.b.example.com',
      '*.b.example.com',
    ],
    [
      'a host before a wildcard',
      ['*.example.com', 'a.example.com'],
      'a.example.com',
      'a.example.com',
    ],
    [
      'nothing below a host that a wildcard covers',
      ['*.example.com', 'a.example.com'],
      'x.a.example.com',
      undefined,
    ],
    [
      'nothing of a name between (RFC 4592)',
      ['*.example.com', 'x.a.example.com'],
      'a.example.com',
      undefined,
    ],
    ['nothing of another domain', ['*.example.com'], 'yahoo.com', undefined],
    ['nothing of a name that ends alike', ['*.example.com'], 'a.myexample.com', undefined],
  ])('finds %s', (_what, hosts, name, expected) => {
    expect(found(filled(...hosts), name)).toBe(expected);
  });

  it('gives a name to the oldest object, whatever the order of events', () => {
    const old = claim('Ingress b/old', '192.0.2.1', 5);
    const young = claim('Ingress a/young', '192.0.2.2', 6);
    for (const order of [
      [old, young],
      [young, old],
    ]) {
      const index = new HostIndex();
      for (const each of order) index.put('app.example.com', each);
      const { claims } = index.conflicts.get('app.example.com')!;
      expect(claims.map(({ owner }) => owner.id)).toEqual(['Ingress b/old', 'Ingress a/young']);
      expect(index.remove('app.example.com', old.owner)).toBe(true);
      expect(index.conflicts.size).toBe(0);
      const key = encodeKey('app.example.com');
      expect(index.find(key, key.length)!.claims).toEqual([young]);
    }
  });

  it('has no conflict where objects lead to the same, and names an object of unknown age last', () => {
    const index = new HostIndex();
    index.put('a.example.com', claim('Ingress a/1', '192.0.2.1'));
    expect(index.put('a.example.com', claim('Ingress a/2', '192.0.2.1'))).toBe(false);
    expect(index.conflicts.size).toBe(0);
    expect(index.put('a.example.com', claim('Ingress a/0', '192.0.2.9', 0))).toBe(false);
    expect(index.conflicts.size).toBe(1);
    expect(index.size).toBe(1);
  });

  it('has nothing left when all is removed', () => {
    const hosts = ['*.example.com', 'x.a.example.com', 'a.example.com', 'b.org'];
    const index = filled(...hosts);
    expect([...index.hosts()].map(({ host }) => host).sort()).toEqual([...hosts].sort());
    hosts.forEach((host, i) => {
      expect(index.remove(host, { id: `Ingress a/${i}`, created: 1 })).toBe(true);
    });
    expect(index.size).toBe(0);
    expect([...index.hosts()]).toEqual([]);
    for (const name of ['q.example.com', 'x.a.example.com', 'b.org']) {
      expect(found(index, name)).toBeUndefined();
    }
    index.put('a.example.com', claim('Ingress a/1', '192.0.2.1'));
    expect(found(index, 'b.example.com')).toBeUndefined();
  });

  it('has the names above hosts, as long as there are any', () => {
    const index = filled('good.hosts.test', '*.wild.test');
    const has = (name: string) => {
      const key = encodeKey(name);
      return index.has(key, key.length);
    };
    for (const name of ['hosts.test', 'wild.test', 'test']) expect(has(name)).toBe(true);
    for (const name of ['other.test', 'x.wild.test']) expect(has(name)).toBe(false);
    index.remove('good.hosts.test', { id: 'Ingress a/0', created: 1 });
    expect(has('hosts.test')).toBe(false);
    expect(has('test')).toBe(true);
  });
});
