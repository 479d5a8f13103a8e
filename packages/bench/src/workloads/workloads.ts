import { NAME_ENDS, needsPrograms, TestAuthority } from '@kube-dns/testkit';
import { type ClusterPlan, podAddress, ZONE } from '../cluster/cluster-plan.js';
import type { Contest, ScoreLog, Subject, Trial } from '../load/scores.js';
import {
  COREDNS,
  DNSMASQ,
  KUBE_DNS,
  OUR_DNSMASQ,
  OUR_KUBEDNS,
  type ServerTestbed,
  type TestbedCluster,
} from '../load/testbed.js';
import {
  askedServices,
  dnsmasqWithServices,
  mixesOf,
  asClientsAsk,
  type LoadQuestion,
  namesBelow,
  namesOfLength,
} from '../queries.js';
import { realStockArguments } from '../servers/peers.js';
import {
  asPromised,
  fasterThanDnsmasq,
  type Judged,
  nearEcho,
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

function servicesTrial(plan: ClusterPlan): Trial {
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

const SERVICES_PROMISE = { rate: 1.25, echo: 1.25 };
const KUBE_DNS_RATIO = 4;
const SERVICES_COREDNS_RATIO = 4;
const CACHING_COREDNS_RATIO = 3;
const CACHING_COREDNS = 'coredns, cache 30';
/** The first has the name of the only trial of other workloads: it is the same one. */
const ASKED = [ONLY_TRIAL, 'SRV', 'NXDOMAIN'] as const;

function serviceTrials({ plan }: TestbedCluster): readonly Trial[] {
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
    const trials = serviceTrials(cluster);
    const kubedns = await testbed.kubedns(cluster);
    const dnsmasqs = await dnsmasqsWith(testbed, cluster);
    const peers = await peersOf(testbed, cluster, trials[0]!.questions.at(-1)!.name);
    return { subjects: [kubedns, ...dnsmasqs, ...peers], trials };
  },
  judge: (log) => [
    ...asPromised(log, OUR_KUBEDNS, SERVICES_PROMISE),
    ...ASKED.flatMap((trial) => [
      ...perCpuSecond(log, OUR_KUBEDNS, COREDNS, SERVICES_COREDNS_RATIO, trial),
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
const DGRAM_ENGINE: Workload = {
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

const HITS_PROMISE = { rate: 1.3, echo: 1.2 };
const HITS_COREDNS_RATIO = 2.4;
const MISS_PART = 0.2;
/** No answer leaves the cache in the middle of a run. */
const CACHE_SECONDS = 3_600;
const SOCKETS = [4, 400] as const;
const LENGTHS = ['one', 'many'] as const;

/** Servers with a large cache in front of a name server that answers every name. */
async function cachesOf(testbed: ServerTestbed, knownName: string): Promise<readonly Subject[]> {
  const { port } = await testbed.nameServer();
  const args = ['--cache-size=10000', '--dns-forward-max=1500', `--server=127.0.0.1#${port}`];
  const directives = [`forward . 127.0.0.1:${port}`, `cache ${CACHE_SECONDS}`];
  return [
    await testbed.ourDnsmasq(args),
    ...(await testbed.realDnsmasq({ args })),
    ...(await testbed.cachesWith({ knownName, directives })),
  ];
}

/** Few clients and many, names of one length and of many: what joins datagrams profits from few and one. */
function hitTrials(names: number): readonly Trial[] {
  return SOCKETS.flatMap((sockets) =>
    LENGTHS.map((length) => ({
      name: `${sockets} sockets, ${length} length${length === 'many' ? 's' : ''}`,
      questions: namesOfLength(length, 'example', names),
      rcodes: ['NOERROR'] as const,
      sockets,
    })),
  );
}

const TRIAL_NAMES = hitTrials(0).map(({ name }) => name);
const [MAIN_TRIAL = ''] = TRIAL_NAMES;

function judgeHits(log: ScoreLog): readonly Judged[] {
  const p999Ms = (subject: string) => log.median('p999Ms', subject, MAIN_TRIAL);
  const tail = {
    name: `p99.9, ${OUR_DNSMASQ}, ${MAIN_TRIAL}`,
    value: p999Ms(OUR_DNSMASQ),
    unit: 'ms',
    bar: { atMost: p999Ms(DNSMASQ) },
    spread: log.range('p999Ms', OUR_DNSMASQ, MAIN_TRIAL),
  };
  return [
    ...asPromised(log, OUR_DNSMASQ, HITS_PROMISE, MAIN_TRIAL),
    ...TRIAL_NAMES.slice(1).flatMap((trial) =>
      nearEcho(log, OUR_DNSMASQ, HITS_PROMISE.echo, trial),
    ),
    ...perCpuSecond(log, OUR_DNSMASQ, COREDNS, HITS_COREDNS_RATIO, MAIN_TRIAL),
    ...(log.has(DNSMASQ) && !Number.isNaN(tail.value) ? [tail] : []),
  ];
}

/** Names that the cache has from the first round on. */
export const HITS: Workload = {
  name: 'hits',
  summary:
    'our dnsmasq and its peers answer 2,000 names from their caches, to few clients and many',
  prepare: async (testbed, { names }) => {
    const trials = hitTrials(names);
    return { subjects: await cachesOf(testbed, trials[0]!.questions[0]!.name), trials };
  },
  judge: judgeHits,
};

/** One question in five has an answer that is not cacheable. */
const EIGHTY_TWENTY: Workload = {
  name: 'eighty-twenty',
  summary: 'the same: 80 % answers from the cache, 20 % from upstream',
  prepare: async (testbed, { names }) => {
    const misses = Math.round(names * MISS_PART);
    const questions = [
      ...namesBelow('example', names - misses),
      ...namesBelow(NAME_ENDS.uncached, misses),
    ];
    return {
      subjects: await cachesOf(testbed, questions[0]!.name),
      trials: [{ name: ONLY_TRIAL, questions, rcodes: ['NOERROR'] }],
    };
  },
  judge: () => [],
};

const DOMAIN = 'encrypted.example';
const CERTIFICATE_NAME = 'dns.example';
const DOT_COREDNS_RATIO = 2;

async function dotSubjects(testbed: ServerTestbed, knownName: string): Promise<readonly Subject[]> {
  const authority = new TestAuthority();
  const certificate = authority.issue({ names: [CERTIFICATE_NAME] });
  const { port, ca } = await testbed.encryptedNameServer(
    { certificate, domain: DOMAIN, address: '198.51.100.7' },
    authority.cert,
  );
  const server = `--server=tls://127.0.0.1#${port}%${CERTIFICATE_NAME}`;
  const args = ['--cache-size=0', '--dns-forward-max=1500', server, `--tls-ca=${ca}`];
  const directives = [
    `forward . tls://127.0.0.1:${port} {`,
    `  tls ${ca}`,
    `  tls_servername ${CERTIFICATE_NAME}`,
    '}',
  ];
  return [
    await testbed.ourDnsmasq(args),
    ...(await testbed.corednsWith({ knownName, directives })),
  ];
}

/** Every question is forwarded over TLS to the same name server, which shares a core with the load generator. */
const DOT: Workload = {
  name: 'dot',
  summary: 'our dnsmasq and CoreDNS without a cache, over TLS to the same Unbound',
  skipReason: () => needsPrograms('unbound'),
  prepare: async (testbed, { names }) => {
    const questions = namesBelow(DOMAIN, names);
    return {
      subjects: await dotSubjects(testbed, questions[0]!.name),
      trials: [{ name: ONLY_TRIAL, questions, rcodes: ['NOERROR'] }],
    };
  },
  judge: (log) => perCpuSecond(log, OUR_DNSMASQ, COREDNS, DOT_COREDNS_RATIO),
};

const ENDPOINTS = 50;
const ALONE = { services: 1, slices: 1, endpointsPerSlice: ENDPOINTS, headless: 1 };
const EDNS_BYTES = 4_096;
const RATIO = 1;
const TRIALS = { cut: 'UDP 512', edns: 'EDNS 4096', tcp: 'TCP' } as const;

/** An answer that is too large for some: cut with TC, whole, and over TCP. */
const HEADLESS: Workload = {
  name: 'headless',
  summary: 'one service with 50 endpoints: cut to 512 bytes, with EDNS 4096, over TCP',
  prepare: async (testbed) => {
    const cluster = await testbed.cluster(ALONE);
    const name = cluster.plan.dnsName(0);
    const kubedns = await testbed.kubedns(cluster);
    const hosts = Array.from({ length: ENDPOINTS }, (_, i) => `${podAddress(i)} ${name}`);
    const dnsmasq = await testbed.realDnsmasq({
      hosts,
      args: [`--local=/${ZONE}/`, '--local-ttl=30'],
    });
    const peers = await testbed.peers(cluster, name);
    const plain = { name, type: 'A' } as const;
    const rcodes = ['NOERROR'] as const;
    return {
      subjects: [kubedns, ...dnsmasq, ...peers],
      trials: [
        { name: TRIALS.cut, questions: [plain], rcodes },
        { name: TRIALS.edns, questions: [{ ...plain, ednsBytes: EDNS_BYTES }], rcodes },
        { name: TRIALS.tcp, questions: [plain], rcodes, isOverTcp: true },
      ],
    };
  },
  judge: (log) =>
    Object.values(TRIALS).flatMap((trial) => fasterThanDnsmasq(log, OUR_KUBEDNS, RATIO, trial)),
};

const TWO_ECHOES_RATIO = 1.25;
const PEER_RATIO = 2;
const ARGS = ['--cache-size=0', '--dns-forward-max=1500'] as const;

async function prepare(
  testbed: ServerTestbed,
  { names }: { readonly names: number },
): Promise<Contest> {
  const outside = await testbed.outside();
  const { address, port, behind, loopbackReason } = outside;
  const questions = namesBelow('example', names);
  const args = [...ARGS, `--server=${address}#${port}`];
  const directives = [`forward . ${address}:${port}`];
  const subjects = [
    await testbed.ourDnsmasq(args),
    ...(await testbed.realDnsmasq({ args })),
    ...(await testbed.corednsWith({ knownName: questions[0]!.name, directives })),
    await testbed.relay(outside),
  ];
  const reason = `the name server was on loopback: ${loopbackReason}`;
  return {
    subjects: subjects.map((subject) => ({ ...subject, behind })),
    trials: [{ name: ONLY_TRIAL, questions, rcodes: ['NOERROR'] }],
    notes: loopbackReason === undefined ? [] : [reason],
  };
}

function judgeOutside(log: ScoreLog): readonly Judged[] {
  const { min, median, max } = log.timesEcho(OUR_DNSMASQ, ONLY_TRIAL);
  const spread = { min: min / 2, median: median / 2, max: max / 2 };
  const name = `CPU/query, ${OUR_DNSMASQ} / two echoes`;
  return [
    { name, value: spread.median, unit: '×', bar: { atMost: TWO_ECHOES_RATIO }, spread },
    ...perCpuSecond(log, OUR_DNSMASQ, DNSMASQ, PEER_RATIO),
    ...perCpuSecond(log, OUR_DNSMASQ, COREDNS, PEER_RATIO),
  ];
}

/** Every question is forwarded over a network to a name server that costs next to nothing. */
export const MISSES_OUTSIDE: Workload = {
  name: 'misses-outside',
  summary: 'our dnsmasq and its peers without a cache, in front of a name server elsewhere',
  prepare,
  judge: judgeOutside,
};

const ZONE_DNSMASQ_RATIO = 3;
const ZONE_COREDNS_RATIO = 4;
/** CPU of kubedns for each answer of the dnsmasq in front of it. */
const KUBEDNS_US = 4;
const GO_POD = 'dnsmasq + kube-dns';

function serverFor({ port }: Subject): string {
  return `--server=/${ZONE}/127.0.0.1#${port}`;
}

async function zoneSubjects(
  testbed: ServerTestbed,
  cluster: TestbedCluster,
  knownName: string,
): Promise<readonly Subject[]> {
  const kubedns = await testbed.kubedns(cluster, { isUpstream: true });
  const args = [...ARGS, serverFor(kubedns)];
  const directives = [`forward . 127.0.0.1:${kubedns.port}`];
  const subjects = [
    await testbed.ourDnsmasq(args),
    ...(await testbed.realDnsmasq({ args })),
    ...(await testbed.corednsWith({ knownName, directives })),
  ].map((subject) => ({ ...subject, behind: kubedns }));
  for (const kubeDns of await testbed.kubeDns(cluster, { knownName }, { isUpstream: true })) {
    const pod = await testbed.realDnsmasq({ args: [...ARGS, serverFor(kubeDns)] });
    subjects.push(...pod.map((subject) => ({ ...subject, name: GO_POD, behind: kubeDns })));
  }
  return subjects;
}

function judgeZone(log: ScoreLog): readonly Judged[] {
  const behind = log.range('behindUs', OUR_DNSMASQ, ONLY_TRIAL);
  return [
    ...perCpuSecond(log, OUR_DNSMASQ, DNSMASQ, ZONE_DNSMASQ_RATIO),
    ...perCpuSecond(log, OUR_DNSMASQ, COREDNS, ZONE_COREDNS_RATIO),
    {
      name: 'CPU of kubedns for each answer',
      value: behind.median,
      unit: 'µs',
      bar: { atMost: KUBEDNS_US },
      spread: behind,
    },
  ];
}

/** Every question is forwarded to the same kubedns, which shares a core with the load where there are two. */
export const MISSES_ZONE: Workload = {
  name: 'misses-zone',
  summary: 'our dnsmasq and its peers without a cache, in front of the same kubedns',
  prepare: async (testbed, size) => {
    const cluster = await serviceCluster(testbed, size);
    const trial = servicesTrial(cluster.plan);
    const subjects = await zoneSubjects(testbed, cluster, trial.questions[0]!.name);
    return { subjects, trials: [trial] };
  },
  judge: judgeZone,
};

/** The domains that a pod's resolver appends to a name with fewer than five dots, before it tries the name. */
export const SEARCH_DOMAINS = {
  /** As kubelet writes them. */
  cluster: ['team-000.svc.cluster.local', 'svc.cluster.local', 'cluster.local'],
  /** The last one is of the node, and no server announces its changes. */
  cloud: [
    'team-000.svc.cluster.local',
    'svc.cluster.local',
    'cluster.local',
    'region.compute.internal',
  ],
} as const;

const LOOKUPS = 'search path';
const CLOUD_LOOKUPS = "search path with a node's domain";
const PLAIN_HITS = 'plain hits';
/** With all answers of all trials in the cache of the manifest, of 1,000. */
const MAX_NAMES = 300;
const POD_DNSMASQ_RATIO = 1.2;
/** As with plain hits: both answer out of a cache. */
const POD_COREDNS_RATIO = 2.4;
const HITS_RATIO = 1.1;

function bothFamilies(name: string): readonly LoadQuestion[] {
  return ['A', 'AAAA'].map((type) => ({ name, type }));
}

/** What a pod asks when it looks up names of the world with `ndots:5`: all but the last name do not exist. */
export function searchPathQuestions(
  questions: number,
  domains: readonly string[],
): readonly LoadQuestion[] {
  const lookups = Math.ceil(questions / (domains.length + 1) / 2);
  return Array.from({ length: lookups }, (_, i) => `host-${i}.example`).flatMap((name) => [
    ...domains.flatMap((domain) => bothFamilies(`${name}.${domain}`)),
    ...bothFamilies(name),
  ]);
}

/** Names of the world that are as long as those with a search domain: a longer name costs more. */
function hitQuestions(questions: number): readonly LoadQuestion[] {
  const end = 'example.team-000.svc.cluster.world';
  const names = Array.from({ length: Math.ceil(questions / 2) }, (_, i) => `site-${i}.${end}`);
  return names.flatMap(bothFamilies);
}

async function podSubjects(testbed: ServerTestbed, names: number): Promise<readonly Subject[]> {
  const cluster = await serviceCluster(testbed, { names });
  const { port } = await testbed.nameServer();
  const world = `--server=127.0.0.1#${port}`;
  const { kubedns, dnsmasq } = await testbed.pod(cluster, [world]);
  const args = [...realStockArguments(kubedns.port), world];
  const knownName = cluster.plan.dnsName(0);
  return [
    dnsmasq,
    ...(await testbed.realDnsmasq({ args })),
    ...(await testbed.coredns(cluster, { knownName, stock: { upstreamPort: port } })),
  ];
}

function judgePod(log: ScoreLog): readonly Judged[] {
  const perQuery = log.ratioOfTrials('cpuUs', OUR_DNSMASQ, LOOKUPS, PLAIN_HITS);
  const judged: Judged[] = [
    ...fasterThanDnsmasq(log, OUR_DNSMASQ, POD_DNSMASQ_RATIO, LOOKUPS),
    {
      name: `CPU/query, ${OUR_DNSMASQ}, ${LOOKUPS} / ${PLAIN_HITS}`,
      value: perQuery.median,
      unit: '×',
      bar: { atMost: HITS_RATIO },
      spread: perQuery,
    },
  ];
  return [...judged, ...perCpuSecond(log, OUR_DNSMASQ, COREDNS, POD_COREDNS_RATIO, LOOKUPS)];
}

/** Mostly negative answers, with the arguments of the manifest. */
export const POD: Workload = {
  name: 'pod',
  summary:
    'four names for each lookup, three of which do not exist, with the arguments of the manifest',
  prepare: async (testbed, { names }) => {
    const count = Math.min(names, MAX_NAMES);
    const lookups = { rcodes: ['NOERROR', 'NXDOMAIN'] } as const;
    return {
      subjects: await podSubjects(testbed, count),
      trials: [
        {
          ...lookups,
          name: LOOKUPS,
          questions: searchPathQuestions(count, SEARCH_DOMAINS.cluster),
        },
        { name: PLAIN_HITS, questions: hitQuestions(count), rcodes: ['NOERROR'] as const },
        {
          ...lookups,
          name: CLOUD_LOOKUPS,
          questions: searchPathQuestions(count, SEARCH_DOMAINS.cloud),
        },
      ],
    };
  },
  judge: judgePod,
};

/** Every workload, in the order in which they run. */
export const WORKLOADS: readonly Workload[] = [
  HITS,
  KUBEDNS_SERVICES,
  POD,
  MISSES_ZONE,
  MISSES_OUTSIDE,
  MIXED_CLIENTS,
  HEADLESS,
  DOT,
  DGRAM_ENGINE,
  EIGHTY_TWENTY,
];
