import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import {
  endPrograms,
  exchange,
  needsPrograms,
  outputOf,
  ScriptedNameServer,
  TemporaryFolder,
  unless,
  until,
} from '@kube-dns/testkit';
import { type KubednsProcess, startKubedns } from './support/kubedns-process.js';
import { queryBytes } from './support/messages.js';
import {
  HEADLESS,
  importedSliceObject,
  importObject,
  namespaceObject,
  serviceObject,
  SHOP,
  sliceObject,
} from './support/objects.js';
import { serialsOf } from './support/secondary.js';
import { secondaryPorts, SecondaryProgram } from './support/secondary-programs.js';

const KEY = {
  name: 'transfer.example',
  algorithm: 'hmac-sha256',
  secret: 'MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=',
};
const execute = promisify(execFile);
const ZONE = 'cluster.local';
const REVERSE = '10.in-addr.arpa';
const CLUSTERSET = 'clusterset.local';
const PORTS = [
  { name: 'http', port: 80 },
  { name: 'dns', port: 53, protocol: 'UDP' },
];
const programs = needsPrograms('dig', 'named', 'nsd', 'knotd');
const checkers = needsPrograms('dig', 'named-checkzone', 'nsd-checkzone', 'kzonecheck');

let api: ApiServer;
let upstream: ScriptedNameServer;
let folder: TemporaryFolder;
let keyPath: string;
let started: SecondaryProgram[] = [];
beforeAll(async () => {
  api = await createApiServer();
  upstream = await ScriptedNameServer.start();
  folder = new TemporaryFolder();
  const { name, algorithm, secret } = KEY;
  keyPath = folder.file('key', `key "${name}" { algorithm ${algorithm}; secret "${secret}"; };\n`);
  await api.apply([
    ...SHOP,
    serviceObject({ name: 'both', clusterIPs: ['10.96.0.30', 'fd00:10:96::30'], ports: PORTS }),
    serviceObject({ name: 'plain', clusterIPs: ['10.96.0.31'], ports: [{ port: 9 }] }),
    serviceObject({ name: 'out', externalName: 'example.com' }),
    serviceObject({ name: 'named', ...HEADLESS }),
    sliceObject({
      name: 'named-1',
      service: 'named',
      ports: PORTS,
      endpoints: [{ addresses: ['10.1.5.1'], hostname: 'a' }, '10.1.5.2'],
    }),
  ]);
  api.serveVersions('multicluster.x-k8s.io', ['v1beta1']);
  await api.apply([
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
afterEach(async () => {
  await Promise.all(started.map((each) => each.close()));
  started = [];
});
afterAll(async () => {
  await endPrograms();
  await upstream.close();
  await api.close();
  await folder.close();
});

/** The records of a zone as dig prints them, each once, sorted. */
async function zoneOf(port: number, zone: string, ...args: readonly string[]): Promise<string[]> {
  const text = await dig(port, zone, 'AXFR', ...args);
  const lines = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith(';') && !line.includes('TSIG'));
  return [...new Set(lines.map((line) => line.replaceAll(/\s+/g, ' ')))].sort();
}

async function dig(port: number, ...args: readonly string[]): Promise<string> {
  const options = ['+tries=1', '+time=60', '+nocomments', '+nostats', '+nocmd', '+noedns'];
  const all = ['@127.0.0.1', '-p', String(port), ...options, ...args];
  const { stdout } = await execute('dig', all, { maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

async function serialAt(port: number, zone: string): Promise<number | undefined> {
  const answer = await exchange(port, queryBytes(zone, 'SOA'), { limitMs: 60_000 });
  return serialsOf(answer)[0];
}

async function startWith(...args: string[]): Promise<KubednsProcess> {
  return startKubedns(api, upstream, ['--transfer-to=127.0.0.1', ...args]).ready();
}

/** All three secondaries of a primary, which notifies them. */
async function startSecondaries(
  zones: readonly string[],
  ...args: readonly string[]
): Promise<{ kubedns: KubednsProcess; port: number }> {
  const ports = await secondaryPorts();
  const notified = [...ports.values()].map((port) => `127.0.0.1#${port}`).join(',');
  const kubedns = await startWith(`--transfer-key=${keyPath}`, `--notify=${notified}`, ...args);
  const port = await kubedns.port();
  const start = { zones, primaryPort: port, key: KEY };
  started = await Promise.all(
    Array.from(ports, ([name, own]) => SecondaryProgram.start(name, own, start)),
  );
  return { kubedns, port };
}

/** Waits until every secondary has what the primary has, record by record. */
async function expectSame(port: number, zone: string, limitMs = 60_000): Promise<number> {
  const serial = (await serialAt(port, zone === REVERSE ? ZONE : zone))!;
  for (const secondary of started) {
    const { name } = secondary;
    await until(
      `${name} with ${zone} ${serial}: ${secondary.program.output.slice(-2_000)}`,
      async () => ((await serialAt(secondary.port, zone)) ?? 0) >= serial,
      { limitMs, stepMs: 100 },
    );
  }
  const own = await zoneOf(port, zone, '-k', keyPath);
  for (const { name, port: itsPort } of started)
    expect([name, await zoneOf(itsPort, zone)]).toEqual([name, own]);
  return own.length;
}

describe('secondaries', () => {
  unless(programs, it)('BIND, NSD and Knot have every record, and follow by NOTIFY', async () => {
    const { port } = await startSecondaries([ZONE, REVERSE]);
    await expectSame(port, ZONE);
    await expectSame(port, REVERSE);
    await api.apply(serviceObject({ name: 'new', clusterIPs: ['10.96.0.40'], ports: PORTS }));
    const query = () => exchange(port, queryBytes('new.default.svc.cluster.local', 'A'));
    await until('the new service', async () => (await query()).readUInt16BE(6) === 1);
    await expectSame(port, ZONE);
    for (const { name, program } of started) {
      const lines = program.output.split('\n').filter((line) => line.includes(ZONE));
      const complaints = lines.filter((line) => /fail|error|warn|bad|malformed/i.test(line));
      // There is no file at the start.
      expect([name, complaints.filter((line) => !line.includes('not exist'))]).toEqual([name, []]);
    }
  });

  unless(programs, it)(
    'have the zone of imports, with the cluster in names of endpoints, and follow it',
    async () => {
      const { port } = await startSecondaries([CLUSTERSET], `--clusterset-domain=${CLUSTERSET}`);
      const isKnown = async () =>
        (await dig(port, `db.shop.svc.${CLUSTERSET}`, 'A')).includes('10.5.0.1');
      await until('the imports', isKnown);
      expect(await expectSame(port, CLUSTERSET)).toBe(RECORDS_OF_IMPORTS);
      for (const { port: own } of started) {
        const host = await dig(own, `db-0.c1.region-a.db.shop.svc.${CLUSTERSET}`, 'A', '+short');
        expect(host.trim()).toBe('10.5.0.1');
      }
      const name = `new.shop.svc.${CLUSTERSET}`;
      await api.apply(importObject({ namespace: 'shop', name: 'new' }));
      await until('the new import', async () => (await dig(port, name, 'A')).includes('10.42.0.1'));
      expect(await expectSame(port, CLUSTERSET)).toBe(RECORDS_OF_IMPORTS + 1);
    },
  );
});

/**
 * SOA, NS, `dns-version`, the address of the name server; of `web` two addresses and four SRV; of `db` four addresses, those of
 * its four hosts, and eight SRV each of the name and of both ports together.
 */
const RECORDS_OF_IMPORTS = 3 + 1 + 6 + 4 + 4 + 8 + 8;

/** The services change one after the other: all changes up to one are there, and none after it. */
function expectOneState(lines: readonly string[], count: number): void {
  const versions = new Map<number, number>();
  for (const line of lines) {
    const match = /^_http\._tcp\.s(\d+)\.n\d+\.\S+ 30 IN SRV 10 100 (\d+) /.exec(line);
    if (match !== null) versions.set(Number(match[1]), Number(match[2]));
  }
  expect(versions.size).toBe(count);
  const last = Math.max(...versions.values());
  for (const [i, version] of versions) {
    const expected = last - ((last - 1 - i + count) % count);
    expect([i, version]).toEqual([i, expected]);
  }
}

describe('dig', () => {
  unless(needsPrograms('dig'), it)('has a signed transfer, and no other one', async () => {
    const kubedns = await startWith(`--transfer-key=${keyPath}`);
    const port = await kubedns.port();
    expect(await dig(port, ZONE, 'AXFR')).toContain('Transfer failed');
    const signed = await dig(port, ZONE, 'AXFR', '-k', keyPath);
    expect(signed).toContain('out.default.svc.cluster.local. 30 IN\tCNAME\texample.com.');
    expect(signed).not.toMatch(/Transfer failed|could.?n.t verify|TSIG error/i);
    const serial = await serialAt(port, ZONE);
    const current = await dig(port, ZONE, `IXFR=${serial}`, '-k', keyPath, '+short');
    expect(current.trim().split('\n')).toHaveLength(1);
    const older = await dig(port, ZONE, `IXFR=${serial! - 1}`, '-k', keyPath);
    expect(older.split('\n').length).toBeGreaterThan(20);
  });

  unless(checkers, it)('prints a zone that no checker of zones complains of', async () => {
    const kubedns = await startWith(`--clusterset-domain=${CLUSTERSET}`);
    const port = await kubedns.port();
    for (const zone of [ZONE, REVERSE, 'ip6.arpa', CLUSTERSET]) {
      const file = folder.file(`${zone}.zone`, await dig(port, zone, 'AXFR', '+onesoa'));
      expect(await outputOf('named-checkzone', ['-i', 'full-sibling', zone, file])).toMatch(
        /^zone .*\nOK$/,
      );
      expect(await outputOf('nsd-checkzone', [zone, file])).toBe(`zone ${zone} is ok`);
      expect(await outputOf('kzonecheck', ['-o', zone, file])).toBe('');
    }
  });
});

// The last one: the cluster has them from here on.
describe('secondaries of a large cluster', () => {
  unless(programs, it)('have 10,000 services while these change, each time one state', async () => {
    const startedMs = performance.now();
    const count = 10_000;
    // The version is a port: the address of a service never changes.
    const service = (i: number, version: number) => {
      const object = serviceObject({
        namespace: `n${i % 100}`,
        name: `s${i}`,
        ports: [{ name: 'http', port: version }],
      });
      const high = 16 + (i >> 8);
      object.spec!.clusterIP = `10.96.${high}.${i & 0xff}`;
      object.spec!.clusterIPs = [object.spec!.clusterIP];
      return object;
    };
    await api.apply(Array.from({ length: 100 }, (_, i) => namespaceObject(`n${i}`)));
    await api.apply(Array.from({ length: count }, (_, i) => service(i, i + 1)));
    const { kubedns, port } = await startSecondaries([ZONE]);
    // That of a service is the number of its last change.
    let version = count + 1;
    const churn = setInterval(() => {
      for (let i = 0; i < 5; i++, version++)
        void api.apply(service((version - 1) % count, version));
    }, 20);
    for (let turns = 0; turns < 3; turns++) {
      const lines = await zoneOf(port, ZONE, '-k', keyPath);
      expectOneState(lines, count);
    }
    clearInterval(churn);
    const last = version - 1;
    const name = `_http._tcp.s${(last - 1) % count}.n${(last - 1) % 100}.svc.${ZONE}`;
    await until('the last change', async () => {
      const { answers } = await kubedns.ask(name, 'SRV');
      return answers.some((text) => text.includes(` ${last} `));
    });
    expect(await expectSame(port, ZONE)).toBeGreaterThan(6 * count);
    expect(performance.now() - startedMs).toBeLessThan(120_000);
  });
});
