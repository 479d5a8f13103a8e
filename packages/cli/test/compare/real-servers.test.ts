import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ApiServer } from '@kube-dns/apiserver';
import { freePort, TemporaryFolder } from '@kube-dns/testkit';
import { compareAsJson, runCompare } from './support/compare-run.js';
import {
  REAL_DNSMASQ,
  startCoreDns,
  startDnsmasq,
  startKubedns,
  startSampleApi,
} from './support/sample-cluster.js';
import { ScriptedServer } from './support/scripted-server.js';

const TIMEOUT_MS = 90_000;
const ZONE = 'cluster.local';
const COREDNS = process.env.COREDNS ?? '';
const noDnsmasq = REAL_DNSMASQ === undefined ? ' (skipped: dnsmasq-base is not installed)' : '';
const noCoreDns = COREDNS === '' ? ' (skipped: COREDNS does not name a coredns program)' : '';

const open: { close(): unknown }[] = [];
let api: ApiServer;
let upstream: ScriptedServer;

function opened<T extends { close(): unknown }>(one: T): T {
  open.push(one);
  return one;
}

beforeEach(async () => {
  api = opened(await startSampleApi());
  upstream = opened(await ScriptedServer.start(() => ({ rcode: 'NXDOMAIN' })));
});

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

/** The rate of a test, and time for a machine that is busy. */
const PATIENT = ['--rate', '2000', '--timeout', '10'];
/** Records of the sample cluster; all other names have negative answers. */
const RECORDS = [
  `--local=/${ZONE}/`,
  `--local=/in-addr.arpa/`,
  `--local=/ip6.arpa/`,
  '--local-ttl=30',
  `--host-record=catalog.shop.svc.${ZONE},10.96.20.20,fd00:10:96::20`,
  `--host-record=web.shop.svc.${ZONE},10.96.20.11`,
  `--host-record=kube-dns.kube-system.svc.${ZONE},10.96.0.10`,
  `--host-record=db-0.db.data.svc.${ZONE},10.244.1.31`,
  `--txt-record=dns-version.${ZONE},1.1.0`,
];

describe('kube-dns compare, the sample cluster in kubedns on one side', () => {
  it(
    'finds nothing but the known differences between two of ours that differ in just these',
    async () => {
      const left = opened(await startKubedns(api, upstream.address));
      const other = ['--record-ttl=5', '--endpoint-names=ip'];
      const right = opened(await startKubedns(api, upstream.address, other));
      await api.apply({
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          name: 'db-more',
          namespace: 'data',
          labels: { 'kubernetes.io/service-name': 'db' },
        },
        addressType: 'IPv4',
        ports: [{ name: 'postgres', port: 5432, protocol: 'TCP' }],
        endpoints: [{ addresses: ['10.244.1.99'] }],
      });
      const sides = ['--left', left.address, '--right', right.address];
      const data = await compareAsJson([...sides, '--api', api.url, ...PATIENT]);
      expect(data.differences).toEqual([]);
      expect(data.status).toBe(0);
      expect(data.known['ttl-default']).toBeGreaterThan(5);
      // Its two names, the two SRV sets that it is in, and its reverse name.
      expect(data.known['endpoint-label']).toBe(5);
      expect(data.questions).toMatchObject({ endpoint: 5, external: 0, given: 0 });
      for (const kind of ['service', 'port', 'pod', 'reverse', 'zone', 'absent'] as const) {
        expect([kind, data.questions[kind] > 0]).toEqual([kind, true]);
      }
    },
    TIMEOUT_MS,
  );

  (REAL_DNSMASQ === undefined ? it.skip : it)(
    `lists what the real dnsmasq with host records says differently, worst first${noDnsmasq}`,
    async () => {
      const left = opened(await startKubedns(api, upstream.address));
      const right = opened(await startDnsmasq(RECORDS));
      const sides = ['--left', left.address, '--right', right.address];
      const data = await compareAsJson([
        ...[...sides, '--api', api.url, ...PATIENT],
        ...['--external', 'www.example.com'],
      ]);
      expect(data.status).toBe(1);
      const worst = new Map(
        data.differences.map(({ name, type, findings }) => [`${name} ${type}`, findings]),
      );
      // Another address, and nothing at all, where the records say so.
      expect(worst.get(`web.shop.svc.${ZONE} A`)).toContainEqual({
        aspect: 'answer',
        left: [`web.shop.svc.${ZONE} 30 A 10.96.20.10`],
        right: [`web.shop.svc.${ZONE} 30 A 10.96.20.11`],
      });
      expect(worst.get(`db-1.db.data.svc.${ZONE} A`)?.[0]).toEqual({
        aspect: 'missing-answer',
        left: [`db-1.db.data.svc.${ZONE} 30 A 10.244.2.32`],
        right: ['none, NXDOMAIN'],
      });
      expect(worst.get(`_http._tcp.web.shop.svc.${ZONE} SRV`)?.[0]?.aspect).toBe('missing-answer');
      const same = [`catalog.shop.svc.${ZONE} A`, `db-0.db.data.svc.${ZONE} A`];
      expect(same.filter((question) => worst.has(question))).toEqual([]);
      const ranks = data.differences.map(({ findings }) =>
        Object.keys(data.aspects).indexOf(findings[0]!.aspect),
      );
      expect(ranks).toEqual([...ranks].sort((a, b) => a - b));
      expect(data.questions.external).toBe(8);

      const table = await runCompare([...sides, '--api', api.url, ...PATIENT]);
      expect(table.status).toBe(1);
      expect(table.stdout).toMatch(/^ +\d+ {2}missing-answer: one side has no answer at all$/m);
      expect(table.stdout).toContain(`\nweb.shop.svc.${ZONE} A  (service, over udp, tcp, edns)\n`);
      expect(table.stdout).toMatch(/^ {2}left +[\d.]+ ms +[\d.]+ ms +[\d.]+ ms +\d+ +0$/m);
      expect(table.stderr).toBe('');
    },
    TIMEOUT_MS,
  );

  (COREDNS === '' ? it.skip : it)(
    `asks CoreDNS with the standard Corefile and finds no answer missing${noCoreDns}`,
    async () => {
      const folder = opened(new TemporaryFolder());
      const left = opened(await startKubedns(api, upstream.address));
      const corefile = folder.file('Corefile', standardCorefile(await freePort()));
      const right = opened(await startCoreDns(COREDNS, corefile));
      const sides = ['--left', left.address, '--right', right.address];
      const data = await compareAsJson([...sides, '--api', api.url, ...PATIENT]);
      const services = data.differences.filter(({ kind }) => kind === 'service');
      expect(data.aspects['no-reply']).toBe(0);
      expect(services.filter(({ findings }) => findings[0]!.aspect === 'missing-answer')).toEqual(
        [],
      );
    },
    TIMEOUT_MS,
  );
});

/** The one of the addon, but for the ports that may be taken and the cluster that is elsewhere. */
function standardCorefile(port: number): string {
  return `.:${port} {
    bind 127.0.0.1
    errors
    kubernetes ${ZONE} in-addr.arpa ip6.arpa {
        endpoint ${api.url}
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
        ttl 30
    }
    forward . ${upstream.address} {
        max_concurrent 1000
    }
    cache 30
    loop
    reload
    loadbalance
}
`;
}
