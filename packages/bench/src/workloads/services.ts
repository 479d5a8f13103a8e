import { type ClusterPlan, ZONE } from '../cluster/cluster-plan.js';
import {
  COREDNS,
  KUBE_DNS,
  OUR_DNSMASQ,
  OUR_KUBEDNS,
  type ServerTestbed,
  type TestbedCluster,
} from '../load/server-testbed.js';
import type { Subject, Trial } from '../load/contest.js';
import { askedServices, mixesOf } from '../queries/mixes.js';
import { asClientsAsk, type LoadQuestion } from '../queries/question-file.js';
import { dnsmasqWithServices } from '../queries/dnsmasq-with-services.js';
import {
  asPromised,
  fasterThanDnsmasq,
  type Judged,
  ONLY_TRIAL,
  perCpuSecond,
  type Workload,
  type WorkloadSize,
} from './workload.js';

/** No answer leaves the cache in the middle of a run. */
const LONG_TTL = '--record-ttl=86400';
const CACHE_SIZE = 10_000;

/** A cluster of as many services as names are asked for, all with an address. */
export function serviceCluster(
  testbed: ServerTestbed,
  { names }: WorkloadSize,
): Promise<TestbedCluster> {
  return testbed.cluster({ services: names, slices: names, endpointsPerSlice: 1, headless: 0 });
}

/** The address of each service. */
export function serviceQuestions(plan: ClusterPlan): readonly LoadQuestion[] {
  const services = askedServices(plan, plan.size.services);
  return services.map((i) => ({ name: plan.dnsName(i), type: 'A' }));
}

export function servicesTrial(plan: ClusterPlan): Trial {
  return { name: ONLY_TRIAL, questions: serviceQuestions(plan), rcodes: ['NOERROR'] };
}

/** The real dnsmasq that has the services in its hosts file. */
function dnsmasqWith(
  testbed: ServerTestbed,
  { plan }: TestbedCluster,
  options = { hasPorts: false },
): Promise<readonly Subject[]> {
  const services = askedServices(plan, plan.size.services);
  return testbed.realDnsmasq(dnsmasqWithServices(plan, services, options));
}

/** Our dnsmasq in front of a kubedns, with a cache for all its answers. */
async function cachingDnsmasq(
  testbed: ServerTestbed,
  cluster: TestbedCluster,
  flags: readonly string[] = [],
): Promise<Subject> {
  const { port } = await testbed.kubedns(cluster, { isUpstream: true, flags: [LONG_TTL] });
  const args = [`--cache-size=${CACHE_SIZE}`, `--server=/${ZONE}/127.0.0.1#${port}`];
  return testbed.ourDnsmasq(args, { flags });
}

const PROMISE = { rate: 1.25, echo: 1.25 };
const KUBE_DNS_RATIO = 4;
const COREDNS_RATIO = 4;
const CACHING_COREDNS_RATIO = 3;
const CACHING_COREDNS = 'coredns, cache 30';
/** The first has the name of the only trial of other workloads: it is the same one. */
const ASKED = [ONLY_TRIAL, 'SRV', 'NXDOMAIN'] as const;

function trialsOf({ plan }: TestbedCluster): readonly Trial[] {
  const mixes = mixesOf(plan, askedServices(plan, plan.size.services));
  return ASKED.map((asked) => {
    const { rcode, lines } = mixes.find(({ name }) => name === asked)!;
    const questions = lines.map((line) => {
      const [name = '', type = ''] = line.split(' ');
      return { name, type };
    });
    return { name: asked, questions, rcodes: [rcode] };
  });
}

/** The real dnsmasq twice: its SRV records make all other answers slow. */
async function dnsmasqsWith(
  testbed: ServerTestbed,
  cluster: TestbedCluster,
): Promise<readonly Subject[]> {
  const withPorts = await dnsmasqWith(testbed, cluster, { hasPorts: true });
  const without = await dnsmasqWith(testbed, cluster);
  return [
    ...without.map((subject) => ({ ...subject, trials: [ONLY_TRIAL, 'NXDOMAIN'] })),
    ...withPorts.map((subject) => ({ ...subject, trials: ['SRV'] })),
  ];
}

async function peersOf(
  testbed: ServerTestbed,
  cluster: TestbedCluster,
  knownName: string,
): Promise<readonly Subject[]> {
  const caching = await testbed.coredns(cluster, { knownName, stock: {} });
  return [
    ...(await testbed.peers(cluster, knownName)),
    ...caching.map((subject) => ({ ...subject, name: CACHING_COREDNS })),
  ];
}

/** kubedns and its peers with many services, beside a dnsmasq with the same names in memory. */
export const KUBEDNS_SERVICES: Workload = {
  name: 'kubedns-services',
  summary:
    'kubedns with 2,000 services: addresses, SRV and names that do not exist; beside its peers',
  prepare: async (testbed, size) => {
    const cluster = await serviceCluster(testbed, size);
    const trials = trialsOf(cluster);
    const kubedns = await testbed.kubedns(cluster);
    const dnsmasqs = await dnsmasqsWith(testbed, cluster);
    const peers = await peersOf(testbed, cluster, trials[0]!.questions.at(-1)!.name);
    return { subjects: [kubedns, ...dnsmasqs, ...peers], trials };
  },
  judge: (log) => [
    ...asPromised(log, OUR_KUBEDNS, PROMISE),
    ...ASKED.flatMap((trial) => [
      ...perCpuSecond(log, OUR_KUBEDNS, COREDNS, COREDNS_RATIO, trial),
      ...perCpuSecond(log, OUR_KUBEDNS, CACHING_COREDNS, CACHING_COREDNS_RATIO, trial),
      ...perCpuSecond(log, OUR_KUBEDNS, KUBE_DNS, KUBE_DNS_RATIO, trial),
    ]),
  ],
};

const MIXED = 'mixed';
const MIXED_PART = 0.9;

/** What cases and cookies cost. */
export const MIXED_CLIENTS: Workload = {
  name: 'mixed',
  summary: 'the same with 10 % of the questions in mixed case and 30 % with EDNS and a cookie',
  prepare: async (testbed, size) => {
    const cluster = await serviceCluster(testbed, size);
    const plain = servicesTrial(cluster.plan);
    const mixed = { ...plain, name: MIXED, questions: asClientsAsk(plain.questions) };
    const kubedns = await testbed.kubedns(cluster);
    const ours = await cachingDnsmasq(testbed, cluster);
    const dnsmasq = await dnsmasqWith(testbed, cluster);
    const peers = await testbed.peers(cluster, plain.questions.at(-1)!.name);
    return { subjects: [kubedns, ours, ...dnsmasq, ...peers], trials: [plain, mixed] };
  },
  judge: (log) =>
    [OUR_KUBEDNS, OUR_DNSMASQ].map((subject): Judged => {
      const spread = log.ratioOfTrials('queriesPerSecond', subject, MIXED, ONLY_TRIAL);
      const name = `queries/s, ${subject}, mixed / plain`;
      return { name, value: spread.median, unit: '×', bar: { atLeast: MIXED_PART }, spread };
    }),
};

const DGRAM_RATIO = 0.65;

/** Both containers where datagrams cannot be moved in batches. */
export const DGRAM_ENGINE: Workload = {
  name: 'dgram-engine',
  summary: 'both containers with the engine for other systems',
  prepare: async (testbed, size) => {
    const flags = ['--udp-engine=dgram'];
    const cluster = await serviceCluster(testbed, size);
    const kubedns = await testbed.kubedns(cluster, { flags });
    const ours = await cachingDnsmasq(testbed, cluster, flags);
    const dnsmasq = await dnsmasqWith(testbed, cluster);
    return { subjects: [kubedns, ours, ...dnsmasq], trials: [servicesTrial(cluster.plan)] };
  },
  judge: (log) =>
    [OUR_KUBEDNS, OUR_DNSMASQ].flatMap((subject) => fasterThanDnsmasq(log, subject, DGRAM_RATIO)),
};
