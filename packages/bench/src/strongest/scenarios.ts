import {
  type CorePlan,
  freePort,
  needsPrograms,
  type Owned,
  pinProcess,
  Remote,
  TestAuthority,
} from '@kube-dns/testkit';
import type { ClusterSize } from '../cluster/cluster-plan.js';
import type { Subject } from '../load/scores.js';
import { type Programs, ServerTestbed, type TestbedCluster } from '../load/testbed.js';
import {
  askedServices,
  dnsmasqWithServices,
  mixesOf,
  namesBelow,
  namesOfLength,
} from '../queries.js';
import type { OneAddressMethods } from '../servers/one-address.js';
import { PEERS, type PeerWord, type Task, type Upstream } from './configurations.js';
import {
  contestant,
  type Contestant,
  pinToAll,
  type Start,
  startOurNodeCache,
  startPeer,
} from './contestants.js';
import {
  COLD_SECONDS,
  CORES,
  LATENCY,
  type MeasurePlan,
  PARTS,
  type ScenarioTrial,
} from './measure.js';
import { zoneText } from './zone.js';

/** The words of `--servers`. */
export const SERVER_WORDS = [
  'ours',
  'unbound',
  'pdns-recursor',
  'knot-resolver',
  'dnsdist',
  'nsd',
  'knot',
  'dnsmasq',
  'coredns',
  'kube-dns',
  'node-cache',
] as const;
export type ServerWord = (typeof SERVER_WORDS)[number];

/** Servers that run side by side, and what they are asked. */
interface Group {
  readonly contestants: readonly Contestant[];
  readonly trials: readonly ScenarioTrial[];
  readonly notes: readonly string[];
}

/** What a group is started with. */
interface GroupContext {
  readonly programs: Programs;
  readonly cores: CorePlan | undefined;
  readonly owned: Owned;
  readonly servers: readonly ServerWord[];
  readonly names: number;
}

/** The scenarios that have their servers in common. */
export interface ScenarioGroup {
  readonly scenarios: readonly Scenario[];
  /** Why it cannot run on this machine; undefined where it can. */
  readonly skipReason?: () => string | undefined;
  readonly prepare: (context: GroupContext) => Promise<Group>;
}

/** A word of `--only`. */
export interface Scenario {
  readonly name: string;
  readonly summary: string;
  /** How many contestants of each word there are, where it is installed. */
  readonly counts: Counts;
  /** Each contestant is measured so long in each run; default: as fast as it answers, and at two parts of that. */
  readonly secondsOf?: (plan: MeasurePlan) => number;
  /** Whether `--quick` has it, too. */
  readonly isQuick?: boolean;
}

type Counts = Readonly<Partial<Record<ServerWord, number>>>;

const FULL_ONLY = ({ seconds }: MeasurePlan) => seconds;
const PARTS_TOO = ({ seconds, partSeconds }: MeasurePlan) => seconds + PARTS.length * partSeconds;
/** What else it takes to measure a contestant: names are asked for once, sockets are opened, late answers are waited for. */
const BESIDE_SECONDS = 0.7;
/** Of each. */
const START_SECONDS = 1;
/** A server that gives fewer answers a second has a longer warm-up. */
const USUAL_ANSWERS = 40_000;

/** The seconds that the scenarios with these names take, with these servers, on a machine that is not busy. */
export function secondsFor(
  names: readonly string[],
  servers: readonly ServerWord[],
  plan: MeasurePlan,
): number {
  const { seconds, answers } = plan.warmUp;
  const warmUp = seconds === 0 ? 0 : Math.max(seconds, answers / USUAL_ANSWERS);
  const asked = SCENARIOS.filter(({ name }) => names.includes(name));
  return asked.reduce((sum, { counts, secondsOf = PARTS_TOO }) => {
    const contestants = servers.reduce((count, word) => count + (counts[word] ?? 0), 0);
    const each = START_SECONDS + warmUp + plan.runs * (secondsOf(plan) + BESIDE_SECONDS);
    return sum + contestants * each;
  }, 0);
}

const CACHE_COUNTS: Counts = {
  ours: 2,
  unbound: 1,
  'pdns-recursor': 1,
  'knot-resolver': 1,
  dnsdist: 1,
  dnsmasq: 1,
  coredns: 1,
  'node-cache': 1,
};
const ZONE_COUNTS: Counts = { ours: 1, nsd: 1, knot: 1, dnsmasq: 1, coredns: 1, 'kube-dns': 1 };

/** No answer leaves a cache in the middle of a run. */
const LONG_TTL_SECONDS = 86_400;
/** CoreDNS keeps an answer an hour at most unless told otherwise. */
const CACHE_SECONDS = 3_600;
const CACHE_SIZE = 10_000;
const TCP_SOCKETS = 20;
const NOERROR = ['NOERROR'] as const;

function dnsmasqArgs(upstreamPort: number, cacheSize: number): readonly string[] {
  const size = [`--cache-size=${cacheSize}`, '--dns-forward-max=1500'];
  return [...size, `--server=127.0.0.1#${upstreamPort}`];
}

/** One after the other. */
async function startAll(
  starts: readonly Start[],
  { owned }: GroupContext,
): Promise<readonly Contestant[]> {
  const started: Contestant[] = [];
  for (const start of starts) started.push(...(await start(owned)));
  return started;
}

/** The peers with a configuration of their own that do this and are asked for. */
function peerStarts(
  { servers, cores }: GroupContext,
  task: Task,
  knownName: string,
): readonly Start[] {
  const isOverTls = task.kind !== 'zone' && task.upstream.tls !== undefined;
  return (Object.keys(PEERS) as PeerWord[])
    .filter((word) => {
      const { kinds, noTls } = PEERS[word];
      return servers.includes(word) && kinds.includes(task.kind) && !(isOverTls && noTls);
    })
    .map((word) => (owned) => startPeer(word, task, { owned, core: cores?.server, knownName }));
}

/** The others that are asked for, each by its word. */
function otherStarts(
  { programs, cores, servers }: GroupContext,
  starts: readonly (readonly [
    ServerWord,
    (testbed: ServerTestbed) => Promise<readonly Subject[]>,
  ])[],
): readonly Start[] {
  return starts
    .filter(([word]) => servers.includes(word))
    .map(([, start]) => async (owned) => {
      const subjects = await start(new ServerTestbed(programs, owned, cores));
      return subjects.map((subject) => contestant(subject));
    });
}

/** Everything that has a cache or does without, in front of one server. */
function forwarderStarts(
  context: GroupContext,
  task: Exclude<Task, { kind: 'zone' }>,
  knownName: string,
): readonly Start[] {
  const { programs, cores, servers } = context;
  const { port } = task.upstream;
  const isCache = task.kind === 'cache';
  const args = dnsmasqArgs(port, isCache ? CACHE_SIZE : 0);
  const directives = [
    `forward . 127.0.0.1:${port}`,
    ...(isCache ? [`cache ${CACHE_SECONDS}`] : []),
  ];
  const ourNodeCache: Start = async (owned) => {
    const place = { owned, core: cores?.server, knownName };
    return [await startOurNodeCache(programs, directives, place)];
  };
  return [
    ...otherStarts(context, [['ours', async (testbed) => [await testbed.ourDnsmasq(args)]]]),
    ...(servers.includes('ours') ? [ourNodeCache] : []),
    ...peerStarts(context, task, knownName),
    ...otherStarts(context, [
      ['dnsmasq', (testbed) => testbed.realDnsmasq({ args })],
      ['coredns', (testbed) => testbed.corednsWith({ knownName, directives })],
      ['node-cache', (testbed) => testbed.nodeCacheWith({ knownName, directives })],
    ]),
  ];
}

/** A fast name server with an answer for every name, over UDP and TCP; those that end in `internal` do not exist. */
async function upstreamFor({ owned, cores }: GroupContext, ttlSeconds: number): Promise<number> {
  const entry = new URL('../servers/one-address.js#OneAddress', import.meta.url);
  const remote = owned.add(new Remote<OneAddressMethods>('the name server', entry));
  const port = await remote.call('start', '127.0.0.1', ttlSeconds);
  await pinProcess(remote.pid, cores?.upstream);
  return port;
}

/** Caches in front of that server. */
const CACHES: ScenarioGroup = {
  scenarios: [
    {
      name: 'hits',
      summary: 'answers from the cache over UDP, from 4 sockets',
      counts: CACHE_COUNTS,
      isQuick: true,
    },
    {
      name: 'negative',
      summary: 'the same for names that do not exist (NXDOMAIN)',
      counts: CACHE_COUNTS,
    },
    {
      name: 'hits-tcp',
      summary: 'answers from the cache over 20 TCP connections, pipelined',
      counts: CACHE_COUNTS,
      isQuick: true,
    },
    {
      name: 'hits-tcp-single',
      summary: 'the same with a connection for each question, one question on each',
      counts: CACHE_COUNTS,
      secondsOf: FULL_ONLY,
    },
  ],
  prepare: async (context) => {
    const { names } = context;
    const port = await upstreamFor(context, LONG_TTL_SECONDS);
    const questions = namesOfLength('one', 'example', names);
    const knownName = questions[0]!.name;
    const task = { kind: 'cache', upstream: { port } } as const;
    const shared = { questions, rcodes: NOERROR, isPrimed: true };
    const tcp = { ...shared, isOverTcp: true, sockets: TCP_SOCKETS };
    return {
      contestants: await startAll(forwarderStarts(context, task, knownName), context),
      trials: [
        { ...shared, name: 'hits' },
        {
          name: 'negative',
          questions: namesBelow('internal', names),
          rcodes: ['NXDOMAIN'],
          isPrimed: true,
        },
        { ...tcp, name: 'hits-tcp' },
        { ...tcp, name: 'hits-tcp-single', isSingle: true, isFullOnly: true },
      ],
      notes: [],
    };
  },
};

/** Few enough that one question of a thousand is a miss after a start. */
const LATENCY_NAMES = 10;
const RATES = [1_000, 20_000, 60_000] as const;

/** The same caches at rates that all of them can answer. */
const RATED_CACHES: ScenarioGroup = {
  scenarios: [
    {
      name: LATENCY,
      summary:
        'hits over UDP: one question at a time, at 1,000, 20,000 and 60,000 a second, and in the first 10 s after a start',
      counts: CACHE_COUNTS,
      secondsOf: ({ rateSeconds }) =>
        (1 + RATES.length) * rateSeconds + START_SECONDS + COLD_SECONDS,
    },
  ],
  prepare: async (context) => {
    const port = await upstreamFor(context, LONG_TTL_SECONDS);
    const questions = namesOfLength('one', 'example', LATENCY_NAMES);
    const task = { kind: 'cache', upstream: { port } } as const;
    const starts = forwarderStarts(context, task, questions[0]!.name);
    const trial = { name: LATENCY, questions, rcodes: NOERROR, rates: RATES, coldStarts: starts };
    return { contestants: await startAll(starts, context), trials: [trial], notes: [] };
  },
};

/** Forwarders without a cache. */
const FORWARDERS: ScenarioGroup = {
  scenarios: [
    {
      name: 'misses',
      summary: 'each question is passed on to a fast name server, over UDP',
      counts: CACHE_COUNTS,
      isQuick: true,
    },
  ],
  prepare: async (context) => {
    const { names } = context;
    // No answer may be kept.
    const port = await upstreamFor(context, 0);
    const questions = namesBelow('example', names);
    const task = { kind: 'forward', upstream: { port } } as const;
    return {
      contestants: await startAll(forwarderStarts(context, task, questions[0]!.name), context),
      trials: [{ name: 'misses', questions, rcodes: NOERROR, isForwarded: true }],
      notes: [],
    };
  },
};

const DOMAIN = 'encrypted.example';
const CERTIFICATE_NAME = 'dns.example';
/** More than a forwarder opens connections. */
const TLS_CLIENTS = 2_000;

async function tlsUpstream({ programs, cores, owned }: GroupContext): Promise<Required<Upstream>> {
  const authority = new TestAuthority();
  const certificate = authority.issue({ names: [CERTIFICATE_NAME] });
  const testbed = new ServerTestbed(programs, owned, cores);
  const clients = TLS_CLIENTS;
  const server = { certificate, domain: DOMAIN, address: '198.51.100.7', clients };
  const { port, ca } = await testbed.encryptedNameServer(server, authority.cert);
  return { port, tls: { name: CERTIFICATE_NAME, caFile: ca } };
}

/** Forwarders without a cache that ask over TLS. */
const ENCRYPTED: ScenarioGroup = {
  scenarios: [
    {
      name: 'dot',
      summary: 'each question is passed on over TLS to the same Unbound',
      counts: { ...CACHE_COUNTS, ours: 1, 'pdns-recursor': 0, dnsmasq: 0 },
      isQuick: true,
    },
  ],
  skipReason: () => needsPrograms('unbound'),
  prepare: async (context) => {
    const { names, servers } = context;
    const upstream = await tlsUpstream(context);
    const { port, tls } = upstream;
    const questions = namesBelow(DOMAIN, names);
    const knownName = questions[0]!.name;
    const server = `--server=tls://127.0.0.1#${port}%${tls.name}`;
    const args = ['--cache-size=0', '--dns-forward-max=1500', server, `--tls-ca=${tls.caFile}`];
    const block = [`  tls ${tls.caFile}`, `  tls_servername ${tls.name}`, '}'];
    const directives = [`forward . tls://127.0.0.1:${port} {`, ...block];
    const starts = [
      ...otherStarts(context, [['ours', async (testbed) => [await testbed.ourDnsmasq(args)]]]),
      ...peerStarts(context, { kind: 'forward', upstream }, knownName),
      ...otherStarts(context, [
        ['coredns', (testbed) => testbed.corednsWith({ knownName, directives })],
        ['node-cache', (testbed) => testbed.nodeCacheWith({ knownName, directives })],
      ]),
    ];
    const notes = Object.entries(PEERS).flatMap(([word, { noTls, kinds }]) => {
      const isLeftOut = kinds.includes('forward') && servers.some((each) => each === word);
      return noTls === undefined || !isLeftOut ? [] : [`dot: without ${word}: ${noTls}.`];
    });
    return {
      contestants: await startAll(starts, context),
      trials: [{ name: 'dot', questions, rcodes: NOERROR, isForwarded: true }],
      notes: servers.includes('dnsmasq') ? [...notes, 'dot: dnsmasq speaks no TLS.'] : notes,
    };
  },
};

const MIXES = [
  ['zone', 'A'],
  ['zone-negative', 'NXDOMAIN'],
  ['zone-srv', 'SRV'],
] as const;

function clusterSize(names: number): ClusterSize {
  return { services: names, slices: names, endpointsPerSlice: 1, headless: 0 };
}

/** What is asked of a cluster, and its zone as a file. */
function zoneFor({ plan }: TestbedCluster, names: number) {
  const services = askedServices(plan, names);
  const knownName = plan.dnsName(services.at(-1)!);
  const trials = MIXES.map(([name, mixName]): ScenarioTrial => {
    const { rcode, lines } = mixesOf(plan, services).find((mix) => mix.name === mixName)!;
    const questions = lines.map((line) => {
      const [owner = '', type = ''] = line.split(' ');
      return { name: owner, type };
    });
    return { name, questions, rcodes: [rcode] };
  });
  return { services, knownName, text: zoneText(plan, services), trials };
}

/** Servers that have the services of a cluster, by its API, a zone file or a hosts file. */
const ZONES: ScenarioGroup = {
  scenarios: [
    {
      name: 'zone',
      summary: 'addresses of services over UDP',
      counts: ZONE_COUNTS,
      isQuick: true,
    },
    {
      name: 'zone-negative',
      summary: 'names of the zone that do not exist',
      counts: ZONE_COUNTS,
      isQuick: true,
    },
    {
      name: 'zone-srv',
      summary: 'SRV records of the services, with their addresses',
      counts: ZONE_COUNTS,
    },
  ],
  prepare: async (context) => {
    const { programs, cores, owned, names } = context;
    const testbed = new ServerTestbed(programs, owned, cores);
    const cluster = await testbed.cluster(clusterSize(names));
    const { plan } = cluster;
    const { services, knownName, text, trials } = zoneFor(cluster, names);
    const withTrials =
      (...allowed: readonly string[]) =>
      (subject: Subject) => ({ ...subject, trials: allowed });
    const dnsmasqs = async () => {
      const plain = await testbed.realDnsmasq(dnsmasqWithServices(plan, services));
      // It goes through all SRV records for each question: another one has them.
      const options = dnsmasqWithServices(plan, services, { hasPorts: true });
      const withPorts = await testbed.realDnsmasq(options);
      return [
        ...plain.map(withTrials('zone', 'zone-negative')),
        ...withPorts.map(withTrials('zone-srv')),
      ];
    };
    const task = { kind: 'zone', zone: text } as const;
    const starts = [
      ...otherStarts(context, [['ours', async () => [await testbed.kubedns(cluster)]]]),
      ...peerStarts(context, task, knownName),
      ...otherStarts(context, [
        ['dnsmasq', dnsmasqs],
        ['coredns', () => testbed.coredns(cluster, { knownName, stock: {} })],
        ['kube-dns', () => testbed.kubeDns(cluster, { knownName })],
      ]),
    ];
    return { contestants: await startAll(starts, context), trials, notes: [] };
  },
};

const CORES_ZONE = `${CORES}-zone`;
const COUNTS = [1, 2] as const;
/** More than processes, so that the kernel divides them. */
const CORES_SOCKETS = 64;

/** Processes of ours that have one port. */
async function ourProcesses(
  count: number,
  start: (part: { readonly port: number; readonly flags: readonly string[] }) => Promise<Subject>,
): Promise<Contestant> {
  const port = await freePort();
  const subjects: Subject[] = [];
  while (subjects.length < count) subjects.push(await start({ port, flags: ['--reuse-port'] }));
  const pids = subjects.map(({ pid }) => pid);
  const check = () => subjects.forEach((subject) => subject.check());
  return { ...subjects[0]!, name: `${subjects[0]!.name} × ${count}`, pids, check };
}

/** Servers on one core and on two. */
const SEVERAL: ScenarioGroup = {
  scenarios: [
    {
      name: CORES,
      summary:
        'hits with 1 and 2 processes (--reuse-port) of our dnsmasq, threads of Unbound, listeners of dnsdist, GOMAXPROCS of CoreDNS',
      counts: { ours: 2, unbound: 2, dnsdist: 2, coredns: 2 },
      secondsOf: FULL_ONLY,
    },
    {
      name: CORES_ZONE,
      summary: 'addresses of services with 1 and 2 processes of our kubedns and of NSD',
      counts: { ours: 2, nsd: 2 },
      secondsOf: FULL_ONLY,
    },
  ],
  prepare: async (context) => {
    const { programs, cores, owned, names, servers } = context;
    // With two cores, the load and the servers share both.
    const own = cores === undefined || cores.upstream === cores.load ? undefined : cores;
    const testbed = new ServerTestbed(programs, owned, undefined);
    const port = await upstreamFor(context, LONG_TTL_SECONDS);
    const questions = namesOfLength('one', 'example', names);
    const args = dnsmasqArgs(port, CACHE_SIZE);
    const cluster = await testbed.cluster(clusterSize(names));
    const zone = zoneFor(cluster, names);
    const tasks = [
      ['unbound', 'threads', { kind: 'cache', upstream: { port } }, questions[0]!.name],
      ['dnsdist', 'listeners', { kind: 'cache', upstream: { port } }, questions[0]!.name],
      ['nsd', 'processes', { kind: 'zone', zone: zone.text }, zone.knownName],
    ] as const;
    const contestants: Contestant[] = [];
    const add = (trial: string, several: readonly Contestant[]) => {
      contestants.push(...several.map((each) => ({ ...each, trials: [trial] })));
    };
    for (const count of COUNTS) {
      if (servers.includes('ours')) {
        add(CORES, [await ourProcesses(count, (part) => testbed.ourDnsmasq(args, part))]);
        add(CORES_ZONE, [await ourProcesses(count, (part) => testbed.kubedns(cluster, part))]);
      }
      for (const [word, what, task, knownName] of tasks) {
        if (!servers.includes(word)) continue;
        const place = { owned, core: undefined, knownName, threads: count };
        const name = `${word}, ${what}: ${count}`;
        const peers = await startPeer(word, task, place);
        const trial = task.kind === 'zone' ? CORES_ZONE : CORES;
        add(
          trial,
          peers.map((peer) => ({ ...peer, name })),
        );
      }
      if (servers.includes('coredns')) {
        // Since 1.12: a socket for each core.
        const sockets = count === 1 ? [] : [`multisocket ${count}`];
        const directives = [...sockets, `forward . 127.0.0.1:${port}`, `cache ${CACHE_SECONDS}`];
        const options = { knownName: questions[0]!.name, directives, processors: count };
        const name = `coredns, GOMAXPROCS=${count}`;
        const subjects = await testbed.corednsWith(options);
        add(
          CORES,
          subjects.map((subject) => contestant(subject, { name })),
        );
      }
    }
    const pids = contestants.flatMap((each) => each.pids);
    await pinToAll(pids, own === undefined ? [] : [own.server, own.upstream]);
    const note =
      'cores: the load and the servers share two cores here, so a server with two processes or threads has no second core: the CPU time per answer says whether the second makes an answer dearer, the busiest thread how evenly the kernel spreads clients; the answers per second do not say how fast two cores are.';
    const shared = {
      rcodes: NOERROR,
      sockets: CORES_SOCKETS,
      isPrimed: true,
      isFullOnly: true,
      isUnpinned: own === undefined,
    };
    return {
      contestants,
      trials: [
        { ...shared, name: CORES, questions },
        { ...shared, name: CORES_ZONE, questions: zone.trials[0]!.questions },
      ],
      notes: own === undefined ? [note] : [],
    };
  },
};

export const GROUPS: readonly ScenarioGroup[] = [
  CACHES,
  RATED_CACHES,
  FORWARDERS,
  ENCRYPTED,
  ZONES,
  SEVERAL,
];
export const SCENARIOS: readonly Scenario[] = GROUPS.flatMap(({ scenarios }) => scenarios);
