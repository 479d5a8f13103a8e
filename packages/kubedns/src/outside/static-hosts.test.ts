import { beforeEach, describe, expect, it } from '@jest/globals';
import { atOnce } from '@kube-dns/base';
import { parseDnsConfig } from '@kube-dns/daemon';
import { decodeName, encodeKey } from '@kube-dns/wire';
import { askLocal } from '../../test/support/local-answers.js';
import { ClusterZone } from '../zone/cluster-zone.js';
import { StaticHosts } from './static-hosts.js';

function configured(text: string) {
  return parseDnsConfig(new Map([['hosts', text]])).hosts;
}

function apply(text: string): void {
  atOnce(hosts.applying(configured(text)));
}

let announced: string[];
let hosts: StaticHosts;
beforeEach(() => {
  announced = [];
  hosts = new StaticHosts({
    zone: new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 }),
    ttlSeconds: 30,
    negativeTtlSeconds: 5,
    changes: {
      isObserved: true,
      takesNames: true,
      add: (name) => void announced.push(decodeName(name)),
    },
  });
});

describe('the names of the key hosts', () => {
  it('are answered with their addresses, other types with NODATA, others not', () => {
    apply('192.0.2.1 Db.example.com db # the database\n2001:db8::1 db.example.com');
    expect(askLocal(hosts, 'db.example.com', 'A')!.answers).toEqual(['db.example.com A 192.0.2.1']);
    expect(askLocal(hosts, 'DB.example.com', 'AAAA')!.answers).toHaveLength(1);
    expect(askLocal(hosts, 'db', 'AAAA')).toMatchObject({ rcode: 'NOERROR', answers: [] });
    expect(askLocal(hosts, 'db', 'AAAA')!.authorities).toHaveLength(1);
    expect(askLocal(hosts, 'x.db.example.com', 'A')).toBeUndefined();
    expect(askLocal(hosts, 'example.com', 'A')).toBeUndefined();
  });

  it('have PTR records: the first name of a line', () => {
    apply('192.0.2.1 db.example.com db\n192.0.2.1 other');
    const reverse = '1.2.0.192.in-addr.arpa';
    expect(askLocal(hosts, reverse, 'PTR')!.answers).toEqual([`${reverse} PTR db.example.com`]);
    expect(askLocal(hosts, reverse, 'A')).toMatchObject({ rcode: 'NOERROR', answers: [] });
    expect(askLocal(hosts, '2.2.0.192.in-addr.arpa', 'PTR')).toBeUndefined();
  });

  it('exist, and so do those above them and above their reverse names', () => {
    apply('192.0.2.1 db.example.com');
    const isAbove = (name: string) => {
      const key = encodeKey(name);
      return hosts.isAbove(key, key.length);
    };
    const above = ['example.com', 'com', '2.0.192.in-addr.arpa'];
    expect(above.map(isAbove)).toEqual(above.map(() => true));
    const others = ['db.example.com', 'x.db.example.com', 'example.org', '.'];
    expect(others.map(isAbove)).toEqual(others.map(() => false));
    apply('');
    expect(isAbove('example.com')).toBe(false);
  });

  it('are announced when they change', () => {
    apply('192.0.2.1 a.example\n192.0.2.2 b.example');
    announced = [];
    apply('192.0.2.1 a.example\n192.0.2.3 b.example');
    expect(new Set(announced.filter((name) => !name.endsWith('arpa')))).toEqual(
      new Set(['b.example']),
    );
    apply('');
    expect(hosts.size).toBe(0);
    expect(askLocal(hosts, 'a.example', 'A')).toBeUndefined();
  });

  it('are none of the zone of the cluster', () => {
    const wrong = configured('192.0.2.1 web.default.svc.cluster.local');
    expect(() => hosts.check(wrong)).toThrow(
      'hosts: line 1: web.default.svc.cluster.local is in the zone of the cluster',
    );
  });
});
