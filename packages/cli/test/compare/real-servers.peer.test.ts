import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ApiServer } from '@kube-dns/apiserver';
import {
  findCoreDns,
  freePort,
  needsCoreDns,
  needsRealDnsmasq,
  TemporaryFolder,
  unless,
} from '@kube-dns/testkit';
import { compareAsJson, runCompare } from './support/compare-run.js';
import {
  startCoreDns,
  startDnsmasq,
  startKubedns,
  startSampleApi,
} from './support/sample-cluster.js';
import { ScriptedServer } from './support/scripted-server.js';
import {
  expectStandardDifferences,
  outsideReply,
  PATIENT,
  standardCorefile,
  ZONE,
} from './support/standard-coredns.js';

const open: { close(): unknown }[] = [];
let api: ApiServer;
let upstream: ScriptedServer;

function opened<T extends { close(): unknown }>(one: T): T {
  open.push(one);
  return one;
}

beforeEach(async () => {
  api = opened(await startSampleApi());
  upstream = opened(await ScriptedServer.start(outsideReply));
});

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

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
  unless(needsRealDnsmasq(), it)(
    'lists what the real dnsmasq with host records says differently, worst first',
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
        shape: { left: 'A', right: 'A' },
        over: ['udp', 'tcp', 'edns'],
      });
      expect(worst.get(`db-1.db.data.svc.${ZONE} A`)?.[0]).toMatchObject({
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
      expect(table.stdout).toContain(`\n  web.shop.svc.${ZONE} A  (over udp, tcp, edns)\n`);
      expect(table.stdout).toMatch(/^ {2}left +[\d.]+ ms +[\d.]+ ms +[\d.]+ ms +\d+ +0$/m);
      expect(table.stderr).toBe('');
    },
  );

  unless(needsCoreDns(), it)(
    'lists what a client can notice beside CoreDNS with the standard Corefile',
    async () => {
      const kubedns = opened(await startKubedns(api, upstream.address));
      const folder = opened(new TemporaryFolder());
      const text = standardCorefile(await freePort(), api.url, upstream.address);
      const coredns = opened(await startCoreDns(findCoreDns()!, folder.file('Corefile', text)));
      await expectStandardDifferences(kubedns, coredns, api.url);
    },
  );
});
