import { afterEach, expect, it } from '@jest/globals';
import { parseFlags } from '@kube-dns/base';
import {
  type ExplainedQuestion,
  type Explanation,
  readQuestion,
  verdictDifference,
} from '@kube-dns/telemetry';
import { ScriptedNameServer, TcpClient, UdpClient } from '@kube-dns/testkit';
import {
  GroupLoad,
  listen,
  type Listener,
  QueryForwarder,
  retryPlan,
  ServerGroup,
  UpstreamServers,
  UpstreamSockets,
} from '@kube-dns/transport';
import { FLAG, RCODE, readUint16, reverseName, SAFE_UDP_BYTES } from '@kube-dns/wire';
import { composeAnswerer } from '../src/answer/kubedns-answerer.js';
import { QueryStatistics } from '../src/answer/query-statistics.js';
import { PROGRAM } from '../src/config/flags.js';
import { Explainer } from '../src/explain/explainer.js';
import { UpstreamStatistics } from '../src/metrics/upstream-statistics.js';
import { Cluster } from './support/cluster.js';
import { queryBytes } from './support/messages.js';
import { HEADLESS, namespaceObject, serviceObject, sliceObject } from './support/objects.js';

const NAMES = 1_000;
/** Only a hang reaches it. */
const ASK_LIMIT_MS = 60_000;
const NAMESPACES = ['default', 'shop', 'data', 'web-1', 'empty'];
const TYPES = ['A', 'AAAA', 'SRV', 'PTR', 'TXT', 'CNAME', 'ANY', 'NS', 'SOA', 'MX'];
const PORTS = [
  { name: 'http', port: 80, protocol: 'TCP' },
  { name: 'dns', port: 53, protocol: 'UDP' },
  { port: 9000, protocol: 'TCP' },
];
const open: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** A number below `limit`, the same in each run. */
function numbers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** Forty services of every kind in each namespace but the last. */
function fill({ zone, namespaces, services, endpointSlices }: Cluster): void {
  for (const name of NAMESPACES) namespaces.put(namespaceObject(name));
  zone.hasAllNamespaces = true;
  NAMESPACES.slice(0, -1).forEach((namespace, n) => {
    for (let i = 0; i < 40; i++) {
      const name = `s${i}`;
      const at = `${n}.${i}`;
      const of = { name, namespace, ports: PORTS.slice(0, i % 4) };
      const kind = i % 8;
      if (kind === 0) services.put(serviceObject({ ...of, externalName: `t${i + n}.example` }));
      else if (kind === 1)
        services.put(serviceObject({ ...of, externalName: `s2.${namespace}.svc.cluster.local` }));
      else if (kind < 5) services.put(serviceObject({ ...of, ...HEADLESS }));
      else if (kind === 5) services.put(serviceObject({ ...of, clusterIPs: [`fd00::${n}:${i}`] }));
      else services.put(serviceObject({ ...of, clusterIPs: [`10.96.${at}`, `fd00::${n}:${i}`] }));
      const endpoints = Array.from({ length: i % 5 }, (_, e) => ({
        addresses: [`10.${e}.${at}`],
        isReady: e !== 3,
        ...(kind === 3 && { hostname: `h${e}` }),
      }));
      endpointSlices.put(
        sliceObject({ name: `${name}-1`, namespace, service: name, endpoints, ports: of.ports }),
      );
    }
  });
}

/** Names of all kinds, existing or not. */
function nameMaker(next: (limit: number) => number): () => string {
  const pick = (texts: readonly string[]) => texts[next(texts.length)]!;
  const service = () => `s${next(44)}.${pick([...NAMESPACES, 'nowhere'])}.svc.cluster.local`;
  const makers: (() => string)[] = [
    service,
    service,
    () => `h${next(5)}.${service()}`,
    () => `${pick(['_http', '_dns', '_none', 'x'])}.${pick(['_tcp', '_udp'])}.${service()}`,
    () => `${pick(['_tcp', '_udp'])}.${service()}`,
    () => `_http._tcp.h${next(4)}.${service()}`,
    () => `10-${next(300)}-0-1.${pick([...NAMESPACES, 'nowhere'])}.pod.cluster.local`,
    () => reverseName(Buffer.from([10, next(5), next(4), next(40)])),
    () => reverseName(Buffer.from([10, 96, next(4), next(40)])),
    () => `a${next(30)}.example`,
    () => `a.example.${service()}`,
    () =>
      `${pick(['', 'svc.', 'pod.', 'dns.', 'ns.dns.', 'dns-version.', 'x.', 'default.svc.'])}cluster.local`,
    () => `*.${pick(['_tcp.', ''])}s${next(2) + 5}.*.svc.cluster.local`,
    () => `S${next(40)}.Default.SVC.cluster.LOCAL`,
    () => `\\${pick(['000', '027', '255', '.', '\\'])}${'x'.repeat(next(60))}.${service()}`,
    () => `${'a.'.repeat(next(100))}${service()}`,
  ];
  return () => makers[next(makers.length)]!();
}

interface Bed {
  readonly explain: (question: ExplainedQuestion) => Promise<Explanation>;
  readonly listener: Listener;
}

async function testbed(): Promise<Bed> {
  const upstream = await ScriptedNameServer.start(({ question }) =>
    /[13579]\./.test(question.name)
      ? { rcode: 'NXDOMAIN' }
      : question.type === 'A'
        ? { answers: [{ type: 'A', ttl: 60, data: '192.0.2.1' }] }
        : {},
  );
  open.push(() => upstream.close());
  const { flags, cluster } = { flags: parseFlags(PROGRAM, []).values, cluster: new Cluster() };
  fill(cluster);
  const sockets = new UpstreamSockets();
  const servers = new UpstreamServers(sockets, new UpstreamStatistics());
  const group = new ServerGroup('.', [servers.at(upstream.at)], 'strict', new GroupLoad());
  const forwarder = new QueryForwarder({
    maxInFlight: 1_000,
    plan: retryPlan(ASK_LIMIT_MS),
    maxUdpBytes: SAFE_UDP_BYTES,
    unsentRcode: RCODE.SERVFAIL,
  });
  open.push(
    () => sockets.close(),
    () => forwarder.close(),
  );
  const rule = { domain: '.', key: 'upstreamNameservers', configured: [], used: group.servers };
  const parts = {
    flags,
    zone: cluster.zone,
    federations: { isActive: false, find: () => undefined, locality: undefined },
    upstreams: { groupFor: () => group, ruleFor: () => rule },
  };
  const answerer = composeAnswerer({
    ...parts,
    forwarder,
    version: '1.2.3',
    statistics: new QueryStatistics(),
    isSynced: () => true,
  });
  const listener = await listen({
    answerer,
    address: '127.0.0.1',
    port: 0,
    onFailure: (error) => {
      throw error;
    },
  });
  open.push(() => listener.close());
  const explainer = new Explainer({
    ...parts,
    answerer,
    exchanges: forwarder.exchanges,
    client: { get: () => Promise.reject(new Error('there is no API server here')) },
    watch: { isSynced: true, pending: [], noContactMs: 0 },
  });
  return { explain: (question) => explainer.explain(question), listener };
}

it(`has the verdict that clients get, for ${NAMES.toLocaleString('en')} names of all kinds and types`, async () => {
  const { explain, listener } = await testbed();
  const udp = await UdpClient.connect(listener.port);
  const tcp = await TcpClient.connect(listener.port);
  open.push(
    () => udp.close(),
    () => tcp.close(),
  );
  const next = numbers(20);
  const makeName = nameMaker(next);
  const rcodes = new Map<string, number>();
  const differences: string[] = [];
  for (let i = 0; i < NAMES; i++) {
    const name = makeName();
    const chosen = TYPES[next(TYPES.length)]!;
    // Of several services ANY has the records of one, which is drawn.
    const type = chosen === 'ANY' && name.includes('*') ? 'A' : chosen;
    const question = readQuestion(new URLSearchParams({ name, type }));
    if (typeof question === 'string') throw new Error(`${name}: ${question}`);
    const { verdict, steps } = await explain(question);
    const query = queryBytes(name, type, { hasEdns: true });
    const first = await udp.ask(query, ASK_LIMIT_MS);
    const isCut = (readUint16(first, 2) & FLAG.TC) !== 0;
    const difference = verdictDifference(
      verdict,
      isCut ? await tcp.ask(query, ASK_LIMIT_MS) : first,
      {
        hasTtls: true,
      },
    );
    if (difference !== '') differences.push(`${name} ${type}: ${difference}`);
    if (steps.length === 0) differences.push(`${name} ${type}: no step`);
    const kind = `${verdict.rcode ?? 'none'} ${verdict.answers.length > 0 ? 'with' : 'without'}`;
    rcodes.set(kind, (rcodes.get(kind) ?? 0) + 1);
  }
  expect(differences).toEqual([]);
  for (const kind of ['NOERROR with', 'NOERROR without', 'NXDOMAIN without', 'NXDOMAIN with'])
    expect([kind, (rcodes.get(kind) ?? 0) > 2]).toEqual([kind, true]);
});
