import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ApiServer } from '@kube-dns/apiserver';
import {
  ask,
  findCoreDns,
  freePort,
  needsCoreDns,
  needsRealDnsmasq,
  type Rcode,
  type ReplyRecord,
  TemporaryFolder,
  unless,
} from '@kube-dns/testkit';
import { compareAsJson, runCompare } from './support/compare-run.js';
import {
  type RunningServer,
  startCoreDns,
  startDnsmasq,
  startKubedns,
  startSampleApi,
} from './support/sample-cluster.js';
import {
  type ComparedQuestion,
  type ComparedReply,
  ScriptedServer,
} from './support/scripted-server.js';

const TIMEOUT_MS = 90_000;
const ZONE = 'cluster.local';

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
      const known = new Map(data.conventions.map((one) => [one.class, one.questions]));
      expect(known.get('ttl-default')).toBeGreaterThan(5);
      // Its two names, the two SRV sets that it is in, and its reverse name.
      expect(known.get('endpoint-label')).toBe(5);
      expect(data.verdict).toMatch(/^no difference that a client can notice, \d conventions$/);
      expect(data.questions).toMatchObject({ endpoint: 5, external: 0, given: 0 });
      for (const kind of ['service', 'port', 'pod', 'reverse', 'zone', 'absent'] as const) {
        expect([kind, data.questions[kind] > 0]).toEqual([kind, true]);
      }
    },
    TIMEOUT_MS,
  );

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
    TIMEOUT_MS,
  );

  describe.each([
    { name: 'a script of CoreDNS', start: likeCoreDns, run: it },
    { name: 'CoreDNS', start: coreDns, run: unless(needsCoreDns(), it) },
  ])('beside $name with the standard Corefile', ({ start, run }) => {
    const test = async () => {
      const kubedns = opened(await startKubedns(api, upstream.address));
      const right = opened(await start(kubedns));
      const { stdout, ...data } = await compareBoth(kubedns, right);
      expect(data.verdict).toMatch(/^3 differences that a client can notice, [3-6] conventions$/);
      expect(data.status).toBe(1);
      expect(data.entries.map((entry) => entry.meaning)).toEqual([
        'Pods do not ask for name servers; tools that ask right are answered that the name has no NS ' +
          'record; left has one.',
        'Clients that ask right are answered that the name has no TXT record; left answers with CNAME, ' +
          'which they follow.',
        'Caches between (NodeLocal DNSCache, dnsmasq) cannot keep a negative answer of right: it has no SOA.',
      ]);
      expect(data.differences.map((one) => `${one.name} ${one.type}`)).toEqual([
        `${ZONE} NS`,
        `payments.shop.svc.${ZONE} TXT`,
        `payments.shop.svc.${ZONE} AAAA`,
      ]);
      expect(data.totals).toMatchObject({ different: 3, notAsked: 0 });
      expect(data.totals.same + data.totals.known + 3).toBe(data.questions.total);
      expect(stdout.startsWith(`${data.verdict}\n\nleft `)).toBe(true);
      expect(stdout.split('\n').length).toBeLessThan(60);
    };
    run('lists what a client can notice', test, TIMEOUT_MS);
  });
});

async function compareBoth(left: RunningServer, right: RunningServer) {
  const args = ['--left', left.address, '--right', right.address, '--api', api.url, ...PATIENT];
  const { stdout } = await runCompare(args);
  return { ...(await compareAsJson(args)), stdout };
}

async function coreDns(): Promise<RunningServer> {
  const folder = opened(new TemporaryFolder());
  return startCoreDns(findCoreDns()!, folder.file('Corefile', standardCorefile(await freePort())));
}

/** Answers as CoreDNS 1.14.7 does where it differs from kubedns: the test with the program checks this one. */
function likeCoreDns({ address }: RunningServer): Promise<ScriptedServer> {
  const port = Number(address.split(':')[1]);
  const empty = new Set([`${ZONE} NS`, `payments.shop.svc.${ZONE} TXT`]);
  return ScriptedServer.start(async ({ name, type }) => {
    const { rcode, answers, authorities, additionals } = await ask(
      port,
      { name, type },
      { isOverTcp: true },
    );
    const header = { rcode: rcode as Rcode, isAuthoritative: true, isRecursionAvailable: false };
    if (empty.has(`${name} ${type}`)) return { ...header, rcode: 'NOERROR' };
    const withoutPriority = (record: ReplyRecord): ReplyRecord =>
      record.type === 'SRV' ? { ...record, data: { ...record.data, priority: 0 } } : record;
    return {
      ...header,
      answers: (answers as ReplyRecord[]).map(withoutPriority),
      // The end of a CNAME without the type has no SOA.
      authorities: (answers.length > 0 ? [] : (authorities as ReplyRecord[])).map((record) => ({
        ...record,
        ttl: 30,
      })),
      additionals: additionals as ReplyRecord[],
    };
  });
}

/** The world outside the cluster: the target of the sample cluster's ExternalName is all there is. */
function outsideReply({ name, type }: ComparedQuestion): ComparedReply {
  const data = { mname: 'a.test', rname: 'b.test', minimum: 60 };
  const authorities = [{ name: 'example.com', type: 'SOA', ttl: 60, data }] as const;
  if (name !== 'payments.example.com') return { rcode: 'NXDOMAIN', authorities };
  return type === 'A' ? { answers: [{ type, data: '192.0.2.7' }] } : { authorities };
}

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
