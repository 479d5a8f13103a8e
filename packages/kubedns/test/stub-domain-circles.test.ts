import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import {
  type Closable,
  Dnsmasq,
  ednsOf,
  encodeQuery,
  exchange,
  freePort,
  Kubedns,
  ownedBy,
  until,
} from '@kube-dns/testkit';
import { namespaceObject, serviceObject } from './support/objects.js';

const own = ownedBy(afterEach);
const MAX_PACKETS = 20;
const SERVFAIL = 2;
const EDE = '15 ';

interface Ports {
  readonly kubedns: number;
  readonly first: number;
  readonly second: number;
}

/** Where each program sends each domain: servers of the same machine. */
interface Circle {
  readonly stubDomains: Readonly<Record<string, readonly (keyof Ports)[]>>;
  readonly first: Readonly<Record<string, readonly (keyof Ports)[]>>;
  readonly second: Readonly<Record<string, readonly (keyof Ports)[]>>;
}

async function startCircle(circle: Circle): Promise<[Kubedns, Dnsmasq, Dnsmasq]> {
  const api: ApiServer = own(await createApiServer());
  await api.apply([
    namespaceObject('default'),
    serviceObject({ name: 'out', externalName: 'ext.a.example' }),
  ]);
  const ports = { kubedns: await freePort(), first: await freePort(), second: await freePort() };
  const folder = await mkdtemp(join(tmpdir(), 'circle-'));
  own({ close: () => rm(folder, { recursive: true }) } satisfies Closable);
  const stubDomains = Object.entries(circle.stubDomains).map(([domain, to]) => [
    domain,
    to.map((each) => `127.0.0.1:${ports[each]}`),
  ]);
  await writeFile(join(folder, 'stubDomains'), JSON.stringify(Object.fromEntries(stubDomains)));
  const rules = (of: Circle['first']) =>
    Object.entries(of).flatMap(([domain, to]) =>
      to.map((each) => `--server=/${domain}/127.0.0.1#${ports[each]}`),
    );
  const flags = [`--kube-master-url=${api.url}`, `--config-dir=${folder}`];
  const all = [
    own(await Kubedns.start({ flags, ports: { dns: ports.kubedns } })),
    own(await Dnsmasq.start({ args: rules(circle.first), ports: { dns: ports.first } })),
    own(await Dnsmasq.start({ args: rules(circle.second), ports: { dns: ports.second } })),
  ] as [Kubedns, Dnsmasq, Dnsmasq];
  for (const each of all) await each.ready();
  return all;
}

interface Asked {
  readonly name: string;
  readonly at: Kubedns | Dnsmasq;
  readonly isRecursionDesired?: boolean;
  readonly isOverTcp?: boolean;
}

type Programs = readonly (Kubedns | Dnsmasq)[];

async function sumOf(programs: Programs, metric: string): Promise<number> {
  const pages = await Promise.all(programs.map((each) => each.metrics()));
  return pages.reduce(
    (sum, page) =>
      sum + (page.sum(`kubedns_${metric}`) || 0) + (page.sum(`dnsmasq_${metric}`) || 0),
    0,
  );
}

const CIRCLES: readonly [string, Circle][] = [
  [
    'one domain through three programs',
    {
      stubDomains: { 'a.example': ['first'] },
      first: { 'a.example': ['second'] },
      second: { 'a.example': ['kubedns'] },
    },
  ],
  [
    'domains and those above them',
    {
      stubDomains: { 'a.example': ['first'], example: ['second'] },
      first: { example: ['second'], 'www.a.example': ['kubedns'] },
      second: { 'a.example': ['kubedns', 'first'], example: ['first'] },
    },
  ],
  [
    'a domain whose servers are the others',
    {
      stubDomains: { 'a.example': ['first', 'second'] },
      first: { 'a.example': ['kubedns', 'second'] },
      second: { 'a.example': ['first', 'kubedns'] },
    },
  ],
];

it.each(CIRCLES)(
  'attack 13: a circle of stub domains ends after few packets, and says why: %s',
  async (_what, circle) => {
    const programs = await startCircle(circle);
    const [kubedns, first] = programs;
    const questions: readonly Asked[] = [
      { name: 'www.a.example', at: kubedns },
      { name: 'mail.a.example', at: first },
      { name: 'nord.a.example', at: kubedns, isRecursionDesired: false },
      { name: 'tcp.a.example', at: kubedns, isOverTcp: true },
      { name: 'out.default.svc.cluster.local', at: kubedns },
    ];
    for (const { at, isOverTcp = false, ...question } of questions) {
      const before = await sumOf(programs, 'upstream_server_queries_total');
      const query = encodeQuery({ ...question, ednsBytes: 1_232 });
      const reply = await exchange(at.ports.dns, query, { isOverTcp });
      expect(reply[3]! & 15).toBe(SERVFAIL);
      expect(ednsOf(reply)?.options.some((option) => option.startsWith(EDE))).toBe(true);
      await until(async () => (await sumOf(programs, 'upstream_in_flight')) === 0);
      const packets = (await sumOf(programs, 'upstream_server_queries_total')) - before;
      expect(packets).toBeGreaterThan(0);
      expect(packets).toBeLessThanOrEqual(MAX_PACKETS);
    }
  },
);
