import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Answers } from '../../test/support/answers.js';
import {
  importedSliceObject,
  importObject,
  namespaceObject,
  serviceObject,
} from '../../test/support/objects.js';
import { Secondary } from '../../test/support/secondary.js';
import { transferableImports } from './imported-transfer.js';

const ZONE = 'clusterset.local';
const NAME = `web.default.svc.${ZONE}`;
const PORTS = [
  { name: 'http', port: 80, protocol: 'TCP' },
  { name: 'dns', port: 53, protocol: 'UDP' },
  { name: '', port: 9000, protocol: 'TCP' },
];

let answers: Answers;
let secondary: Secondary;
let isKnown: boolean;
beforeEach(() => {
  answers = new Answers({ clusterset: `${ZONE}.`, ownAddresses: [Uint8Array.of(10, 0, 0, 53)] });
  const { cluster, imported } = answers;
  for (const name of ['default', 'prod']) cluster.namespaces.put(namespaceObject(name));
  cluster.zone.hasAllNamespaces = true;
  isKnown = true;
  const zone = transferableImports(imported!, {
    cluster: cluster.zone,
    ttlSeconds: 30,
    serverAddresses: () => [Uint8Array.of(10, 0, 0, 53)],
    isKnown: () => isKnown,
  });
  secondary = new Secondary({ zone: cluster.zone, beside: [zone] });
});
afterEach(() => answers.close());

function fill(): void {
  const { serviceImports, endpointSlices } = answers.cluster;
  serviceImports.put(importObject({ ips: ['10.42.0.1', 'fd42::1'], ports: PORTS }));
  serviceImports.put(importObject({ name: 'bare', ips: ['10.42.0.2'] }));
  serviceImports.put(importObject({ name: 'none', ips: [] }));
  serviceImports.put(importObject({ name: 'db', type: 'Headless', ports: PORTS }));
  serviceImports.put(importObject({ name: 'empty', type: 'Headless' }));
  serviceImports.put(importObject({ namespace: 'absent' }));
  const named = (address: string) => ({ addresses: [address], hostname: 'db-0' });
  const slice = (fields: Parameters<typeof importedSliceObject>[0] & object) =>
    endpointSlices.put(importedSliceObject({ service: 'db', ports: PORTS, ...fields }));
  slice({ cluster: 'c1.region-a', endpoints: [named('10.1.0.1'), '10.1.0.2'] });
  const ipv6 = { name: 'six', addressType: 'IPv6', endpoints: [named('fd00::1')] };
  slice({ cluster: 'c1.region-a', ...ipv6 });
  // The clusters' networks overlap.
  slice({ cluster: 'west', endpoints: [named('10.1.0.1')], ports: PORTS.slice(0, 1) });
}

describe('the transfer of the clusterset’s zone', () => {
  it('has every record as it is answered, each once; names of endpoints have their cluster', async () => {
    fill();
    const { records, content } = await secondary.transfer(ZONE);
    expect(records[0]).toMatch(/^clusterset\.local SOA ns\.dns\.clusterset\.local /);
    expect(records.at(-1)).toBe(records[0]);
    expect(new Set(content).size).toBe(content.length);
    const names = new Set(content.map((text) => text.split(' ')[0]!));
    const db = `db.default.svc.${ZONE}`;
    expect([...names].sort()).toEqual(
      [
        ZONE,
        `ns.dns.${ZONE}`,
        `dns-version.${ZONE}`,
        `bare.default.svc.${ZONE}`,
        db,
        `db-0.c1.region-a.${db}`,
        `10-1-0-2.c1.region-a.${db}`,
        `db-0.west.${db}`,
        `_http._tcp.${db}`,
        `_dns._udp.${db}`,
        NAME,
        `_http._tcp.${NAME}`,
        `_dns._udp.${NAME}`,
      ].sort(),
    );
    for (const name of names) {
      const answered = await answers.records(name, ['A', 'AAAA', 'SRV', 'TXT', 'NS']);
      const transferred = content.filter((text) => text.startsWith(`${name} `));
      expect(transferred).toEqual([...new Set(answered)].map((text) => `${name} ${text}`));
    }
  });

  it('is of one state: that of its serial, whatever changes meanwhile', async () => {
    fill();
    const before = (await secondary.transfer(ZONE)).content;
    const { stream } = secondary.ask(ZONE, 'AXFR');
    const { serviceImports, endpointSlices } = answers.cluster;
    serviceImports.put(importObject({ ips: ['10.42.9.9'] }));
    serviceImports.delete(importObject({ name: 'bare' }));
    endpointSlices.put(importedSliceObject({ service: 'db', cluster: 'west', endpoints: [] }));
    await secondary.settle();
    expect(stream.content).toEqual(before);
    const next = await secondary.transfer(ZONE);
    expect(next.serials[0]).toBeGreaterThan(stream.serials[0]!);
    expect(next.content).toContain(`${NAME} A 10.42.9.9`);
    expect(next.content.join()).not.toMatch(/bare|west/);
  });

  it('has another serial after each change: of imports, slices, namespaces, and the DNS service', async () => {
    const { serviceImports, endpointSlices, namespaces, services, zone } = answers.cluster;
    const headless = importObject({ type: 'Headless' });
    const slice = importedSliceObject({ endpoints: ['10.1.0.1'] });
    const server = { namespace: 'kube-system', name: 'kube-dns', clusterIPs: ['10.96.0.10'] };
    const changes = [
      () => serviceImports.put(headless),
      () => endpointSlices.put(slice),
      () => namespaces.delete(namespaceObject('default')),
      () => namespaces.put(namespaceObject('default')),
      () => endpointSlices.delete(slice),
      () => serviceImports.delete(headless),
      () => services.put(serviceObject(server)),
      () => (zone.hasAllNamespaces = false),
    ];
    const serials = [(await secondary.transfer(ZONE)).serials[0]!];
    for (const change of changes) {
      change();
      serials.push((await secondary.transfer(ZONE)).serials[0]!);
      const current = secondary.ask(ZONE, 'IXFR', { serial: serials.at(-1)! }).answer!;
      expect(current.answers).toHaveLength(1);
    }
    expect(serials).toEqual([...new Set(serials)].sort());
    namespaces.delete(namespaceObject('prod'));
    expect((await secondary.transfer(ZONE)).serials[0]).toBe(serials.at(-1));
    const older = await secondary.transfer(ZONE, 'IXFR', { serial: serials[0]! });
    expect(older.content).toEqual((await secondary.transfer(ZONE)).content);
  });

  it('is refused with SERVFAIL while the ServiceImports are not known', () => {
    isKnown = false;
    expect(secondary.ask(ZONE, 'AXFR').answer?.rcode).toBe('SERVFAIL');
    expect(secondary.ask('cluster.local', 'AXFR').answer).toBeUndefined();
  });
});
