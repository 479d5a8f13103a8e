import {
  type CorePlan,
  freePort,
  MeasureError,
  needsPrograms,
  type Owned,
  pinProcess,
  Remote,
  TestAuthority,
} from '@kube-dns/testkit';
import type { Subject } from '../load/scores.js';
import { OUR_DNSMASQ, type Programs, ServerTestbed } from '../load/testbed.js';
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
import { LATENCY, type ScenarioTrial } from './measure.js';
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
interface Scenario {
  readonly name: string;
  readonly summary: string;
  /** Whether `--quick` has it, too. */
  readonly isQuick?: boolean;
}

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
      isQuick: true,
    },
    { name: 'negative', summary: 'the same for names that do not exist (NXDOMAIN)' },
    {
      name: 'hits-tcp',
      summary: 'answers from the cache over 20 TCP connections, pipelined',
      isQuick: true,
    },
    {
      name: 'hits-tcp-single',
      summary: 'the same with a connection for each question, one question on each',
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

async function tlsUpstream({ programs, cores, owned }: GroupContext): Promise<Required<Upstream>> {
  const authority = new TestAuthority();
  const certificate = authority.issue({ names: [CERTIFICATE_NAME] });
  const testbed = new ServerTestbed(programs, owned, cores);
  const server = { certificate, domain: DOMAIN, address: '198.51.100.7' };
  const { port, ca } = await testbed.encryptedNameServer(server, authority.cert);
  return { port, tls: { name: CERTIFICATE_NAME, caFile: ca } };
}

/** Forwarders without a cache that ask over TLS. */
const ENCRYPTED: ScenarioGroup = {
  scenarios: [
    {
      name: 'dot',
      summary: 'each question is passed on over TLS to the same Unbound',
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

/** Servers that have the services of a cluster, by its API, a zone file or a hosts file. */
const ZONES: ScenarioGroup = {
  scenarios: [
    { name: 'zone', summary: 'addresses of services over UDP', isQuick: true },
    {
      name: 'zone-negative',
      summary: 'names of the zone that do not exist',
      isQuick: true,
    },
    { name: 'zone-srv', summary: 'SRV records of the services, with their addresses' },
  ],
  prepare: async (context) => {
    const { programs, cores, owned, names } = context;
    const testbed = new ServerTestbed(programs, owned, cores);
    const size = { services: names, slices: names, endpointsPerSlice: 1, headless: 0 };
    const cluster = await testbed.cluster(size);
    const { plan } = cluster;
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
    const task = { kind: 'zone', zone: zoneText(plan, services) } as const;
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

const COUNTS = [1, 2] as const;
/** More than processes, so that the kernel divides them. */
const CORES_SOCKETS = 64;

/** Two processes of ours have one port. */
async function ourProcesses(
  testbed: ServerTestbed,
  args: readonly string[],
  count: number,
): Promise<Contestant> {
  const port = await freePort();
  const subjects: Subject[] = [];
  for (let i = 0; i < count; i++) {
    subjects.push(await testbed.ourDnsmasq(args, { port, flags: ['--reuse-port'] }));
  }
  const [first] = subjects;
  if (first === undefined) throw new MeasureError('no process of our dnsmasq');
  const pids = subjects.map(({ pid }) => pid);
  const check = () => subjects.forEach((subject) => subject.check());
  const name = `${OUR_DNSMASQ} × ${count}`;
  return { ...first, name, pids, check };
}

/** Caches on one core and on two. */
const CORES: ScenarioGroup = {
  scenarios: [
    {
      name: 'cores',
      summary:
        'hits with 1 and 2 processes (--reuse-port) of our dnsmasq, threads of Unbound, GOMAXPROCS of CoreDNS',
    },
  ],
  prepare: async (context) => {
    const { programs, cores, owned, names, servers } = context;
    // With two cores, the load and the servers share both.
    const own = cores === undefined || cores.upstream === cores.load ? undefined : cores;
    const testbed = new ServerTestbed(programs, owned, undefined);
    const port = await upstreamFor(context, LONG_TTL_SECONDS);
    const questions = namesOfLength('one', 'example', names);
    const knownName = questions[0]!.name;
    const args = dnsmasqArgs(port, CACHE_SIZE);
    const task = { kind: 'cache', upstream: { port } } as const;
    const contestants: Contestant[] = [];
    for (const count of COUNTS) {
      if (servers.includes('ours')) contestants.push(await ourProcesses(testbed, args, count));
      if (servers.includes('unbound')) {
        const place = { owned, core: undefined, knownName, threads: count };
        const name = `unbound, ${count} thread${count === 1 ? '' : 's'}`;
        const peers = await startPeer('unbound', task, place);
        contestants.push(...peers.map((peer) => ({ ...peer, name })));
      }
      if (servers.includes('coredns')) {
        // Since 1.12: a socket for each core.
        const sockets = count === 1 ? [] : [`multisocket ${count}`];
        const directives = [...sockets, `forward . 127.0.0.1:${port}`, `cache ${CACHE_SECONDS}`];
        const options = { knownName, directives, processors: count };
        for (const subject of await testbed.corednsWith(options)) {
          contestants.push(contestant(subject, { name: `coredns, GOMAXPROCS=${count}` }));
        }
      }
    }
    const pids = contestants.flatMap((each) => each.pids);
    await pinToAll(pids, own === undefined ? [] : [own.server, own.upstream]);
    const note =
      'cores: the load and the servers share two cores here, so compare the CPU time per answer, and not the answers per second.';
    return {
      contestants,
      trials: [
        {
          name: 'cores',
          questions,
          rcodes: NOERROR,
          sockets: CORES_SOCKETS,
          isPrimed: true,
          isFullOnly: true,
          isUnpinned: own === undefined,
        },
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
  CORES,
];
export const SCENARIOS: readonly Scenario[] = GROUPS.flatMap(({ scenarios }) => scenarios);
