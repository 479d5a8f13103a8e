import { beforeEach, describe, expect, it } from '@jest/globals';
import { encodeKey } from '@kube-dns/wire';
import { Answers } from '../../test/support/answers.js';
import {
  type EndpointFields,
  HEADLESS,
  serviceObject,
  sliceObject,
} from '../../test/support/objects.js';
import { textsAt } from '../../test/support/record-text.js';
import { FakeStream, Secondary } from '../../test/support/secondary.js';
import type { Cluster } from '../../test/support/cluster.js';
import { reverseNetwork } from './cluster-zones.js';

const PORTS = [
  { name: 'http', port: 80 },
  { name: 'dns', port: 53, protocol: 'UDP' },
  { name: 'dns-tcp', port: 53 },
  { port: 9000 },
];

let answers: Answers;
let cluster: Cluster;
beforeEach(() => {
  answers = new Answers();
  ({ cluster } = answers);
});

/** Records `owner TYPE data` by owner. */
function byOwner(records: readonly string[]): Map<string, string[]> {
  const owners = new Map<string, string[]>();
  for (const text of records) {
    const [owner = ''] = text.split(' ');
    owners.set(owner, [...(owners.get(owner) ?? []), text.slice(owner.length + 1)]);
  }
  return owners;
}

/** Puts services of all kinds. */
function fill(): void {
  const { services, endpointSlices } = cluster;
  services.put(serviceObject({ name: 'web', ports: PORTS }));
  services.put(serviceObject({ name: 'both', clusterIPs: ['10.0.0.2', 'fd00::2'], ports: PORTS }));
  services.put(serviceObject({ name: 'bare', clusterIPs: ['10.0.0.3'] }));
  services.put(
    serviceObject({ name: 'kube-dns', namespace: 'kube-system', clusterIPs: ['10.0.0.10'] }),
  );
  services.put(serviceObject({ name: 'out', externalName: 'example.com' }));
  services.put(serviceObject({ name: 'number', externalName: '192.0.2.7' }));
  services.put(serviceObject({ name: 'empty', ...HEADLESS }));
  services.put(serviceObject({ name: 'db', ...HEADLESS }));
  services.put(serviceObject({ name: 'x'.repeat(63), namespace: 'y'.repeat(63), ...HEADLESS }));
  const ports = PORTS.slice(0, 2);
  const named = (i: number, address: string) => ({ addresses: [address], hostname: `db-${i}` });
  const slice = (name: string, endpoints: EndpointFields[], fields: object = {}) =>
    endpointSlices.put(sliceObject({ name, service: 'db', endpoints, ports, ...fields }));
  slice('db-1', [named(0, '10.1.0.1'), named(1, '10.1.0.2'), '10.1.0.3']);
  slice('db-2', [named(0, 'fd00:1::1'), 'fd00:1::3'], { addressType: 'IPv6' });
  slice('db-3', [named(1, '10.1.0.2'), '10.1.0.4'], { ports: PORTS.slice(2) });
  // Its Service object is missing.
  endpointSlices.put(sliceObject({ name: 'lost-1', service: 'lost', endpoints: ['10.1.0.9'] }));
}

/** A service of so many endpoints that no set is made of them for a question. */
function fillLarge(count: number): void {
  const { services, endpointSlices } = cluster;
  services.put(serviceObject({ name: 'large', ...HEADLESS }));
  const named = Array.from({ length: count }, (_, i) => {
    const end = `${i >> 8}.${i & 0xff}`;
    return { addresses: [`10.2.${end}`], ...(i % 2 === 0 && { hostname: `h-${i}` }) };
  });
  const ports = PORTS.slice(0, 3);
  endpointSlices.put(sliceObject({ name: 'large-1', service: 'large', endpoints: named, ports }));
  const again = named.slice(0, 9);
  endpointSlices.put(sliceObject({ name: 'large-2', service: 'large', endpoints: again, ports }));
}

describe('the transfer of the zone', () => {
  it('has the SOA at both ends, and every record of all names as they are answered, each once', async () => {
    fill();
    const { records } = await new Secondary(cluster).transfer('cluster.local');
    expect(records[0]).toMatch(/^cluster\.local SOA ns\.dns\.cluster\.local /);
    expect(records.at(-1)).toBe(records[0]);
    const owners = byOwner(records.slice(1, -1));
    expect(owners.get('cluster.local')).toEqual(['NS ns.dns.cluster.local']);
    expect(owners.get('ns.dns.cluster.local')).toEqual(['A 10.0.0.10']);
    expect(owners.get('dns-version.cluster.local')).toEqual(['TXT 1.1.0']);
    expect(owners.get('out.default.svc.cluster.local')).toEqual(['CNAME example.com']);
    expect(owners.get('number.default.svc.cluster.local')).toContain('A 192.0.2.7');
    expect(owners.get('_http._tcp.db.default.svc.cluster.local')).toHaveLength(4);
    expect(owners.get('db-0._http._tcp.db.default.svc.cluster.local')).toHaveLength(1);
    expect([...owners.keys()].filter((owner) => /empty|lost/.test(owner))).toEqual([]);
    owners.delete('cluster.local');
    owners.delete('ns.dns.cluster.local');
    for (const [owner, texts] of owners) {
      expect([owner, texts.toSorted()]).toEqual([owner, textsAt(cluster.zone, owner)?.toSorted()]);
    }
  });

  it('has those of a service with more endpoints than a set has, with few records at a time', async () => {
    fillLarge(1_100);
    const { records } = await new Secondary(cluster).transfer('cluster.local');
    const owners = byOwner(records.slice(1, -1));
    const name = 'large.default.svc.cluster.local';
    const of = (type: string) => owners.get(name)!.filter((text) => text.startsWith(`${type} `));
    expect(of('A')).toHaveLength(1_100);
    // Port 80 and port 53 of each.
    expect(of('SRV')).toHaveLength(2_200);
    expect(owners.get(`_http._tcp.${name}`)).toHaveLength(1_100);
    for (const owner of [
      `h-0.${name}`,
      `h-1098.${name}`,
      `_http._tcp.h-4.${name}`,
      `h-4._http._tcp.${name}`,
    ]) {
      expect([owner, owners.get(owner)?.toSorted()]).toEqual([
        owner,
        textsAt(cluster.zone, owner)?.toSorted(),
      ]);
    }
  });

  it.each([3, 1_100])(
    'goes without the name of a port that is no label, and has all else of %i endpoints',
    async (count) => {
      const { services, endpointSlices } = cluster;
      const longest = 'p'.repeat(62);
      const ports = [
        { name: longest, port: 1 },
        { name: `${longest}p`, port: 2 },
        { name: 'http', port: 80 },
      ];
      services.put(serviceObject({ name: 'web', ports }));
      services.put(serviceObject({ name: 'db', ...HEADLESS }));
      const endpoints = Array.from({ length: count }, (_, i) => `10.2.${i >> 8}.${i & 0xff}`);
      endpointSlices.put(sliceObject({ name: 'db-1', service: 'db', endpoints, ports }));
      const { records } = await new Secondary(cluster).transfer('cluster.local');
      const owners = byOwner(records.slice(1, -1));
      for (const [name, hosts] of [
        ['web', 1],
        ['db', count],
      ] as const) {
        const service = `${name}.default.svc.cluster.local`;
        const srv = owners.get(service)!.filter((text) => text.startsWith('SRV '));
        expect(srv).toHaveLength(3 * hosts);
        expect(srv.filter((text) => text.split(' ')[3] === '2')).toHaveLength(hosts);
        for (const port of [longest, 'http'])
          expect(owners.get(`_${port}._tcp.${service}`)).toHaveLength(hosts);
      }
      const labels = [...owners.keys()].flatMap((owner) => owner.split('.'));
      expect(labels.filter((label) => label.length > 63)).toEqual([]);
    },
  );

  it('has the addresses of this machine for the name server without a service of the DNS', async () => {
    const { content } = await new Secondary(cluster).transfer('cluster.local');
    expect(content).toContain('ns.dns.cluster.local A 10.9.9.9');
    expect(content).toHaveLength(3);
  });
});

describe('a transfer while the cluster changes', () => {
  const named = (i: number) => `s${i}.default.svc.cluster.local A`;

  /** A transfer that has sent one message, of which the others wait. */
  async function begin(secondary: Secondary): Promise<FakeStream> {
    const stream = new FakeStream();
    stream.readsMessages = 1;
    secondary.ask('cluster.local', 'AXFR', { stream });
    await secondary.settle();
    expect(stream.messages).toHaveLength(1);
    return stream;
  }

  async function finish(secondary: Secondary, stream: FakeStream): Promise<void> {
    stream.readsMessages = Number.POSITIVE_INFINITY;
    stream.onDrain!();
    await secondary.settle();
    expect(stream.ended).toBe('end');
  }

  it('is of one state: that of its serial, whatever changed, came or went meanwhile', async () => {
    const { services, endpointSlices } = cluster;
    const put = (i: number, address = '10.0.0.1') =>
      services.put(serviceObject({ name: `s${i}`, clusterIPs: [address] }));
    for (let i = 0; i < 600; i++) put(i);
    services.put(serviceObject({ name: 'db', ...HEADLESS }));
    const slice = (endpoints: string[]) =>
      endpointSlices.put(sliceObject({ name: 'db-1', service: 'db', endpoints }));
    slice(['10.1.0.1']);
    const secondary = new Secondary(cluster);
    const before = (await secondary.transfer('cluster.local')).content;

    const stream = await begin(secondary);
    for (let i = 0; i < 600; i += 3) put(i, '10.0.0.2');
    for (let i = 1; i < 600; i += 3) services.delete(serviceObject({ name: `s${i}` }));
    // They get the numbers of those that went.
    for (let i = 600; i < 900; i++) put(i);
    slice(['10.1.0.1', '10.1.0.2']);
    services.put(serviceObject({ name: 'db', clusterIPs: ['10.0.0.9'] }));
    services.delete(serviceObject({ name: 'db' }));
    await finish(secondary, stream);

    expect(stream.content).toEqual(before);
    expect(new Set(stream.serials).size).toBe(1);
    expect(stream.serials).toHaveLength(2);
    const next = await secondary.transfer('cluster.local');
    expect(next.serials[0]).toBeGreaterThan(stream.serials[0]!);
    expect(next.content).toContain(`${named(0)} 10.0.0.2`);
    expect(next.content.some((text) => text.startsWith(named(1)))).toBe(false);
    expect(next.content).toContain(`${named(899)} 10.0.0.1`);
  });

  it('keeps nothing when it is over', async () => {
    for (let i = 0; i < 600; i++) cluster.services.put(serviceObject({ name: `s${i}` }));
    const secondary = new Secondary(cluster);
    const stream = await begin(secondary);
    expect(secondary.transfers.running).toBe(1);
    stream.onClose!();
    expect(secondary.transfers.running).toBe(0);
    expect(secondary.transfers.results).toMatchObject({ aborted: 1, complete: 0 });
  });
});

describe('the transfer of reverse names', () => {
  it('is of the zone that the secondary chooses, with all that is answered in it', async () => {
    fill();
    const secondary = new Secondary(cluster);
    for (const [zone, owners] of [
      ['in-addr.arpa', 8],
      ['10.in-addr.arpa', 8],
      ['1.10.in-addr.arpa', 4],
      ['0.1.10.in-addr.arpa', 4],
      ['9.1.10.in-addr.arpa', 0],
      ['ip6.arpa', 3],
      ['1.0.0.0.0.0.d.f.ip6.arpa', 2],
    ] as const) {
      const { records } = await secondary.transfer(zone);
      expect(records[0]).toBe(`${zone} SOA ns.dns.cluster.local hostmaster.cluster.local 5`);
      const [ns, ...names] = records.slice(1, -1);
      expect(ns).toBe(`${zone} NS ns.dns.cluster.local`);
      const found = byOwner(names);
      expect([zone, found.size]).toEqual([zone, owners]);
      for (const [owner, texts] of found)
        expect([owner, texts.sort()]).toEqual([owner, await answers.records(owner)]);
    }
  });

  it('has one name of each address with --ptr=first, the one that is answered', async () => {
    answers = new Answers({ ptr: 'first' });
    ({ cluster } = answers);
    const { services, endpointSlices } = cluster;
    for (const name of ['b', 'a', 'c']) {
      services.put(serviceObject({ name, ...HEADLESS }));
      const endpoints = [{ addresses: ['10.1.0.1'], hostname: name }, '10.1.0.2'];
      endpointSlices.put(sliceObject({ name: `${name}-1`, service: name, endpoints }));
    }
    services.put(serviceObject({ name: 'z', clusterIPs: ['10.1.0.2'] }));
    const { content } = await new Secondary({ zone: cluster.zone, ptr: 'first' }).transfer(
      '10.in-addr.arpa',
    );
    expect(content).toEqual([
      '1.0.1.10.in-addr.arpa PTR a.a.default.svc.cluster.local',
      '10.in-addr.arpa NS ns.dns.cluster.local',
      '2.0.1.10.in-addr.arpa PTR z.default.svc.cluster.local',
    ]);
  });

  it.each([
    ['in-addr.arpa', '0.0.0.0/0'],
    ['10.in-addr.arpa', '10.0.0.0/8'],
    ['96.10.in-addr.arpa', '10.96.0.0/16'],
    ['d.f.ip6.arpa', 'fd/8'],
    ['1.2.3.4.in-addr.arpa', undefined],
    ['010.in-addr.arpa', undefined],
    ['256.in-addr.arpa', undefined],
    ['x.in-addr.arpa', undefined],
    ['g.ip6.arpa', undefined],
    ['10.ip6.arpa', undefined],
    ['arpa', undefined],
    ['example.com', undefined],
  ])('%s is the zone of %s', (name, network) => {
    const key = encodeKey(name);
    const found = reverseNetwork(key, key.length);
    const text = found && `${found.size === 4 ? found.address.join('.') : 'fd'}/${found.bits}`;
    expect(text).toBe(network);
  });
});
