import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { exchange, needsPrograms, outputOf, unless, until } from '@kube-dns/testkit';
import { queryBytes } from './support/messages.js';
import {
  HEADLESS,
  importedSliceObject,
  importObject,
  serviceObject,
  SHOP,
  sliceObject,
} from './support/objects.js';
import { proveTransfersUnderChurn } from './support/transfer-churn.js';
import { TransferTestbed, ZONE } from './support/transfer-testbed.js';

const REVERSE = '10.in-addr.arpa';
const CLUSTERSET = 'clusterset.local';
const PORTS = [
  { name: 'http', port: 80 },
  { name: 'dns', port: 53, protocol: 'UDP' },
];
/** With the longest name that is a label with its underscore, and one that is none. */
const LONG_PORTS = [...PORTS, { name: 'p'.repeat(62), port: 1 }, { name: 'p'.repeat(63), port: 2 }];
const programs = needsPrograms('dig', 'named', 'nsd', 'knotd');
const checkers = needsPrograms('dig', 'named-checkzone', 'nsd-checkzone', 'kzonecheck');

let testbed: TransferTestbed;
beforeAll(async () => {
  testbed = await TransferTestbed.create();
  await testbed.api.apply([
    ...SHOP,
    serviceObject({
      name: 'both',
      clusterIPs: ['10.96.0.30', 'fd00:10:96::30'],
      ports: LONG_PORTS,
    }),
    serviceObject({ name: 'plain', clusterIPs: ['10.96.0.31'], ports: [{ port: 9 }] }),
    serviceObject({ name: 'out', externalName: 'example.com' }),
    serviceObject({ name: 'named', ...HEADLESS }),
    sliceObject({
      name: 'named-1',
      service: 'named',
      ports: LONG_PORTS,
      endpoints: [{ addresses: ['10.1.5.1'], hostname: 'a' }, '10.1.5.2'],
    }),
  ]);
  testbed.api.serveVersions('multicluster.x-k8s.io', ['v1beta1']);
  await testbed.api.apply([
    importObject({ namespace: 'shop', ips: ['10.42.0.1', 'fd42::1'], ports: PORTS }),
    importObject({ namespace: 'shop', name: 'db', type: 'Headless', ports: PORTS }),
    ...['c1.region-a', 'west'].map((cluster, i) =>
      importedSliceObject({
        namespace: 'shop',
        service: 'db',
        cluster,
        ports: PORTS,
        endpoints: [{ addresses: [`10.5.${i}.1`], hostname: 'db-0' }, `10.5.${i}.2`],
      }),
    ),
  ]);
});
afterEach(() => testbed.endSecondaries());
afterAll(() => testbed.close());

describe('secondaries', () => {
  unless(programs, it)('BIND, NSD and Knot have every record, and follow by NOTIFY', async () => {
    const { port } = await testbed.startSecondaries([ZONE, REVERSE]);
    await testbed.expectSame(port, ZONE);
    await testbed.expectSame(port, REVERSE, ZONE);
    await testbed.api.apply(
      serviceObject({ name: 'new', clusterIPs: ['10.96.0.40'], ports: PORTS }),
    );
    const query = () => exchange(port, queryBytes('new.default.svc.cluster.local', 'A'));
    await until('the new service', async () => (await query()).readUInt16BE(6) === 1);
    await testbed.expectSame(port, ZONE);
    for (const { name, program } of testbed.secondaries) {
      const lines = program.output.split('\n').filter((line) => line.includes(ZONE));
      const complaints = lines.filter((line) => /fail|error|warn|bad|malformed/i.test(line));
      // There is no file at the start.
      expect([name, complaints.filter((line) => !line.includes('not exist'))]).toEqual([name, []]);
    }
  });

  unless(programs, it)(
    'have the zone of imports, with the cluster in names of endpoints, and follow it',
    async () => {
      const { api } = testbed;
      const flag = `--clusterset-domain=${CLUSTERSET}`;
      const { port } = await testbed.startSecondaries([CLUSTERSET], flag);
      const dig = (at: number, name: string) => testbed.dig(at, name, 'A', '+short');
      const isKnown = async () =>
        (await dig(port, `db.shop.svc.${CLUSTERSET}`)).includes('10.5.0.1');
      await until('the imports', isKnown);
      expect(await testbed.expectSame(port, CLUSTERSET)).toBe(RECORDS_OF_IMPORTS);
      for (const { port: own } of testbed.secondaries) {
        const host = await dig(own, `db-0.c1.region-a.db.shop.svc.${CLUSTERSET}`);
        expect(host.trim()).toBe('10.5.0.1');
      }
      const name = `new.shop.svc.${CLUSTERSET}`;
      await api.apply(importObject({ namespace: 'shop', name: 'new' }));
      await until('the new import', async () => (await dig(port, name)).includes('10.42.0.1'));
      expect(await testbed.expectSame(port, CLUSTERSET)).toBe(RECORDS_OF_IMPORTS + 1);
    },
  );
});

/**
 * SOA, NS, `dns-version`, the address of the name server; of `web` two addresses and four SRV; of `db` four addresses, those of
 * its four hosts, and eight SRV each of the name and of both ports together.
 */
const RECORDS_OF_IMPORTS = 3 + 1 + 6 + 4 + 4 + 8 + 8;

describe('dig', () => {
  unless(needsPrograms('dig'), it)('has a signed transfer, and no other one', async () => {
    const { keyPath } = testbed;
    const kubedns = await testbed.start(`--transfer-key=${keyPath}`);
    const port = await kubedns.port();
    const dig = (...args: string[]) => testbed.dig(port, ZONE, ...args);
    expect(await dig('AXFR')).toContain('Transfer failed');
    const signed = await dig('AXFR', '-k', keyPath);
    expect(signed).toContain('out.default.svc.cluster.local. 30 IN\tCNAME\texample.com.');
    expect(signed).not.toMatch(/Transfer failed|could.?n.t verify|TSIG error/i);
    const serial = await testbed.serialAt(port, ZONE);
    const current = await dig(`IXFR=${serial}`, '-k', keyPath, '+short');
    expect(current.trim().split('\n')).toHaveLength(1);
    const older = await dig(`IXFR=${serial! - 1}`, '-k', keyPath);
    expect(older.split('\n').length).toBeGreaterThan(20);
  });

  unless(checkers, it)('prints a zone that no checker of zones complains of', async () => {
    const kubedns = await testbed.start(`--clusterset-domain=${CLUSTERSET}`);
    const port = await kubedns.port();
    for (const zone of [ZONE, REVERSE, 'ip6.arpa', CLUSTERSET]) {
      const text = await testbed.dig(port, zone, 'AXFR', '+onesoa');
      const file = testbed.folder.file(`${zone}.zone`, text);
      expect(await outputOf('named-checkzone', ['-i', 'full-sibling', zone, file])).toMatch(
        /^zone .*\nOK$/,
      );
      expect(await outputOf('nsd-checkzone', [zone, file])).toBe(`zone ${zone} is ok`);
      expect(await outputOf('kzonecheck', ['-o', zone, file])).toBe('');
    }
  });
});

// The last one: the cluster has them from here on.
describe('secondaries of a cluster that changes', () => {
  unless(programs, it)('have 500 services, each time one state with every record', () =>
    proveTransfersUnderChurn(testbed, 500),
  );
});
