import { setTimeout as delay } from 'node:timers/promises';
import {
  type Command,
  type CommandContext,
  cpuUsage,
  freePort,
  monotonicMs,
  partsOption,
  numberOption,
  type OptionValues,
  Owned,
  Remote,
  rssBytes,
  usageSince,
} from '@kube-dns/testkit';
import { expectationsOf } from '../cluster/cluster-plan.js';
import type { NodeCacheCrowdMethods } from '../dns/node-cache-crowd.js';
import type { SteadyLoadMethods } from '../dns/steady-load.js';
import type { SubscriberCrowdMethods } from '../dns/subscriber-crowd.js';
import { cpuOf } from '../load/cpu-share.js';
import { Series, type Subject } from '../load/scores.js';
import { type Programs, ServerTestbed, type TestbedCluster } from '../load/testbed.js';
import { stockArguments } from '../servers/peers.js';
import { CONTAINER_OPTIONS, programsOf } from './command.js';

/** What the parts share. */
interface FanOutContext {
  readonly programs: Programs;
  readonly owned: Owned;
  readonly add: Series['add'];
  readonly subscribers: number;
  /** A second. */
  readonly changes: number;
  readonly services: number;
  readonly seconds: number;
}

const CROWD = new URL('../dns/subscriber-crowd.js#SubscriberCrowd', import.meta.url);
const NODE_CACHES = new URL('../dns/node-cache-crowd.js#NodeCacheCrowd', import.meta.url);
const LOAD = new URL('../dns/steady-load.js#SteadyLoad', import.meta.url);
const MIB = 1024 * 1024;
/** A quarter of the noise is of endpoints that are in no answer. */
const EVENTS_PER_CHANGE = 4 / 3;

/** The bars of the two measurements: of few subscribers, which read each name, and of many. */
const FEW = { cpuPercent: 10, freshnessMs: 50 } as const;
const MANY = { cpuPercent: 100, freshnessMs: 1_000, rssMib: 150 } as const;

/** A server with subscribers, and what they get from the changes of a cluster. */
class Fleet {
  readonly testbed: ServerTestbed;
  readonly cluster: TestbedCluster;
  readonly kubedns: Subject;
  readonly crowd: Remote<SubscriberCrowdMethods>;

  private constructor(
    testbed: ServerTestbed,
    cluster: TestbedCluster,
    kubedns: Subject,
    crowd: Remote<SubscriberCrowdMethods>,
  ) {
    this.testbed = testbed;
    this.cluster = cluster;
    this.kubedns = kubedns;
    this.crowd = crowd;
  }

  static async start(context: FanOutContext, owned: Owned): Promise<Fleet> {
    const testbed = new ServerTestbed(context.programs, owned, undefined);
    const cluster = await startCluster(testbed, context);
    const kubedns = await testbed.kubedns(cluster);
    const crowd = owned.add(new Remote<SubscriberCrowdMethods>('the subscribers', CROWD));
    return new Fleet(testbed, cluster, kubedns, crowd);
  }
}

function startCluster(
  testbed: ServerTestbed,
  { services }: FanOutContext,
): Promise<TestbedCluster> {
  return testbed.cluster({ services, slices: services, endpointsPerSlice: 2, headless: 0.1 });
}

/** Few subscribers with few changes: they are a node-cache each, and read what they get. */
async function measureFew(context: FanOutContext): Promise<void> {
  const { add } = context;
  const own = context.owned.add(new Owned());
  const fleet = await Fleet.start(context, own);
  const dnsmasq = await fleet.testbed.subscribedDnsmasq(fleet.kubedns);
  await fleet.cluster.remote.call('startNoise', context.changes * EVENTS_PER_CHANGE, true);
  const [alone = NaN] = await cpuOf([dnsmasq], context.seconds);
  await fleet.crowd.call('join', dnsmasq.port, context.subscribers);
  const [together = NaN, crowded = NaN] = await measure(context, fleet, dnsmasq, FEW.freshnessMs);
  const { messagesPerSecond, spreadMs } = await fleet.crowd.call('counted');
  const each = (percent: number) => (percent / 100 / messagesPerSecond) * 1e6;
  const microseconds = { unit: 'µs', digits: 1 } as const;
  const percent = { unit: '% of a core', digits: 1, bar: { atMost: FEW.cpuPercent } } as const;
  add('dnsmasq', together, percent);
  add('one of its subscribers', crowded / context.subscribers, { ...percent, digits: 2 });
  add('messages to all of them', messagesPerSecond, { unit: '/s', digits: 0 });
  add('CPU of a message to one', each(together - alone), microseconds);
  add('CPU of a message at one', each(crowded), microseconds);
  add('from the first to the last subscriber', spreadMs, { unit: 'ms', digits: 1 });
  await own.close();
}

/** Names that clients ask for meanwhile, all of each server in turn. */
const ASKED_NAMES = 50;
/** Questions to a node-cache a second, in the mean. */
const ASKED_OF_EACH = 4;
const REPLICAS = { kubedns: 3, dnsmasq: 2 } as const;
/** Each of the same kind serves one port, and the kernel chooses: as a Service does by addresses. */
const SHARED = { flags: ['--reuse-port'] } as const;
const MIN_COVERAGE_PERCENT = 99;

/** Node-caches behind several dnsmasq behind several kubedns: each with a cache, and clients. */
async function measureReplicas(context: FanOutContext): Promise<void> {
  const { add, seconds, subscribers, changes } = context;
  const own = context.owned.add(new Owned());
  const testbed = new ServerTestbed(context.programs, own, undefined);
  const cluster = await startCluster(testbed, context);
  const servers: Subject[] = [];
  const kubednsPart = { ...SHARED, port: await freePort() };
  for (let i = 0; i < REPLICAS.kubedns; i++)
    servers.push(await testbed.kubedns(cluster, kubednsPart));
  const part = { ...SHARED, port: await freePort() };
  const kubedns = servers[0]!;
  for (let i = 0; i < REPLICAS.dnsmasq; i++)
    servers.push(await testbed.subscribedDnsmasq(kubedns, [], part));
  const crowd = own.add(new Remote<NodeCacheCrowdMethods>('the node-caches', NODE_CACHES));
  // On the loopback interface each has an address of its own.
  const addresses = Array.from({ length: subscribers }, (_, i) => `127.1.${i >> 8}.${i & 255}`);
  const port = await freePort();
  await crowd.call('start', { addresses, port, serverPort: part.port });
  const load = own.add(new Remote<SteadyLoadMethods>('the clients', LOAD));
  const asked = expectationsOf(cluster.plan, ASKED_NAMES);
  await load.call('start', port, ASKED_OF_EACH * subscribers, asked, addresses);
  await cluster.remote.call('startNoise', changes * EVENTS_PER_CHANGE, true);
  let fromMs = 0;
  const subjects = [...servers, { pid: crowd.pid, check: () => undefined }];
  const used = await cpuOf(subjects, seconds, async () => {
    await crowd.call('startCount');
    fromMs = monotonicMs();
  });
  const noted = await cluster.remote.call('notedChanges');
  const lastMs = monotonicMs();
  await cluster.remote.call('stopNoise');
  await delay(2 * FEW.freshnessMs);
  const made = noted.filter(({ atMs }) => atMs >= fromMs);
  const { live, ms, announced, zoneAnswers, leastCoverage } = await crowd.call('counted', made);
  const { sent, missing, answerMs } = await load.call('finish');
  const figure = { unit: 'ms', digits: 1 } as const;
  const percent = { unit: '% of a core', digits: 1, bar: { atMost: FEW.cpuPercent } } as const;
  add('changes', made.length / ((lastMs - fromMs) / 1_000), { unit: '/s', digits: 0 });
  add('announced', 100 * announced, { unit: '%', digits: 1, bar: { atLeast: 99.9 } });
  add('freshness p50', ms.p50, figure);
  add('freshness p99', ms.p99, { ...figure, bar: { atMost: FEW.freshnessMs } });
  add('freshness max', ms.max, figure);
  add('cached answers of the zone', zoneAnswers, { unit: '' });
  const coverage = { unit: '%', digits: 1, bar: { atLeast: MIN_COVERAGE_PERCENT } } as const;
  add('pinned of them, at least in any second', 100 * leastCoverage, coverage);
  add('subscriptions at the end', live, { unit: '', bar: { atLeast: subscribers } });
  add('the busiest kubedns', Math.max(...used.slice(0, REPLICAS.kubedns)), percent);
  add('the busiest dnsmasq', Math.max(...used.slice(REPLICAS.kubedns, servers.length)), percent);
  add('a node-cache', used.at(-1)! / subscribers, { ...percent, digits: 2 });
  add('questions', sent, { unit: '' });
  add('answers p99', answerMs.p99, figure);
  add('without an answer', missing, { unit: '', bar: { atMost: 0 } });
  await own.close();
}

/** Questions to the one dnsmasq meanwhile, each second. */
const ASKED_PER_SECOND = 200;
/** A client asks again after 5 s at the soonest, many after 1 s. */
const IN_TIME_MS = 1_000;

/** Clients that ask a server from now on; `finish` adds when they had their answers, and returns how many were wrong. */
async function startClients(
  { add }: FanOutContext,
  owned: Owned,
  { cluster }: Fleet,
  port: number,
): Promise<{ finish(): Promise<number> }> {
  const load = owned.add(new Remote<SteadyLoadMethods>('the clients', LOAD));
  await load.call('start', port, ASKED_PER_SECOND, expectationsOf(cluster.plan, ASKED_NAMES));
  const finish = async () => {
    const { answerMs, missing, wrong, sent } = await load.call('finish');
    const figure = { unit: 'ms', digits: 1 } as const;
    add('questions meanwhile', sent, { unit: '' });
    add('answers p50', answerMs.p50, figure);
    add('answers p99', answerMs.p99, figure);
    add('the last answer', answerMs.max, { ...figure, bar: { atMost: IN_TIME_MS } });
    add('without an answer', missing, { unit: '', bar: { atMost: 0 } });
    return wrong;
  };
  return { finish };
}

/** Many subscribers with many changes. */
async function measureMany(context: FanOutContext): Promise<void> {
  const { add, subscribers } = context;
  const own = context.owned.add(new Owned());
  const fleet = await Fleet.start(context, own);
  const dnsmasq = await fleet.testbed.subscribedDnsmasq(fleet.kubedns);
  const beforeMib = rssBytes(dnsmasq.pid) / MIB;
  await fleet.crowd.call('join', dnsmasq.port, subscribers, true);
  const idleMib = rssBytes(dnsmasq.pid) / MIB;
  await fleet.cluster.remote.call('startNoise', context.changes * EVENTS_PER_CHANGE, true);
  const clients = await startClients(context, own, fleet, dnsmasq.port);
  const [together = NaN, crowded = NaN] = await measure(context, fleet, dnsmasq, MANY.freshnessMs);
  // What changes meanwhile is none of the answers that they expect.
  await clients.finish();
  const { messagesPerSecond, spreadMs } = await fleet.crowd.call('counted');
  add('dnsmasq', together, { unit: '% of a core', digits: 0, bar: { atMost: MANY.cpuPercent } });
  add('all subscribers', crowded, { unit: '% of a core' });
  add('RSS of dnsmasq', rssBytes(dnsmasq.pid) / MIB, {
    unit: 'MiB',
    digits: 0,
    bar: { atMost: MANY.rssMib },
  });
  add('RSS of a subscriber there', ((idleMib - beforeMib) * 1024) / subscribers, {
    unit: 'KiB',
    digits: 1,
  });
  add('messages to all of them', messagesPerSecond, { unit: '/s', digits: 0 });
  add('from the first to the last subscriber', spreadMs, { unit: 'ms', digits: 0 });
  await own.close();
}

/** Adds how fresh the names are at the subscribers; returns the CPU time of the server and of the subscribers. */
async function measure(
  context: FanOutContext,
  { cluster, crowd }: Fleet,
  server: Subject,
  freshnessMs: number,
): Promise<readonly number[]> {
  const { add, subscribers } = context;
  let fromMs = 0;
  const subjects = [server, { pid: crowd.pid, check: () => undefined }];
  const used = await cpuOf(subjects, context.seconds, async () => {
    await crowd.call('startCount');
    fromMs = monotonicMs();
  });
  const seconds = (monotonicMs() - fromMs) / 1_000;
  const noted = await cluster.remote.call('notedChanges');
  await cluster.remote.call('stopNoise');
  // Those of the last moment are still on their way.
  await delay(2 * freshnessMs);
  const changes = noted.filter(({ atMs }) => atMs >= fromMs);
  const { ms, announced } = await crowd.call('freshness', changes);
  const live = await crowd.call('live');
  const figure = { unit: 'ms', digits: 1 } as const;
  add('changes', changes.length / seconds, { unit: '/s', digits: 0 });
  add('announced', (100 * announced) / changes.length, {
    unit: '%',
    digits: 1,
    bar: { atLeast: 99.9 },
  });
  add('freshness p50', ms.p50, figure);
  add('freshness p99', ms.p99, { ...figure, bar: { atMost: freshnessMs } });
  add('freshness max', ms.max, figure);
  add('subscribers at the end', live, { unit: '', bar: { atLeast: subscribers } });
  return used;
}

const HERD_LIMIT_MS = 60_000;
const LOOK_MS = 50;

/** The server is killed, and another one starts: all subscribers come back while clients ask. */
async function measureHerd(context: FanOutContext): Promise<void> {
  const { add, subscribers } = context;
  const own = context.owned.add(new Owned());
  const fleet = await Fleet.start(context, own);
  const { testbed, kubedns, crowd } = fleet;
  const first = await testbed.subscribedDnsmasq(kubedns);
  await crowd.call('join', first.port, subscribers);
  await first.server!.close('SIGKILL');
  const { port } = first;
  const second = await testbed.ourDnsmasq(stockArguments(kubedns.port), { port });
  const startMs = monotonicMs();
  const clients = await startClients(context, own, fleet, port);
  const usedBefore = cpuUsage(second.pid);
  let live = 0;
  while (live < subscribers && monotonicMs() < startMs + HERD_LIMIT_MS) {
    await delay(LOOK_MS);
    second.check();
    live = await crowd.call('live');
  }
  const againMs = monotonicMs() - startMs;
  const { userMs, systemMs } = usageSince(usedBefore, cpuUsage(second.pid));
  add('subscribers again', live, { unit: '', bar: { atLeast: subscribers } });
  add('until they are', againMs / 1_000, { unit: 's', digits: 1 });
  add('CPU time of dnsmasq until then', (userMs + systemMs) / 1_000, { unit: 's', digits: 1 });
  const wrong = await clients.finish();
  add('with a wrong one', wrong, { unit: '', bar: { atMost: 0 } });
  await own.close();
}

const PARTS = ['few', 'replicas', 'many', 'herd'] as const;

const OPTIONS = {
  runs: numberOption(3, 'runs of each part', { min: 1, max: 100 }),
  subscribers: numberOption(5_000, 'subscribers of one dnsmasq', { min: 1, max: 6_000 }),
  changes: numberOption(1_000, 'changes a second', { min: 1, max: 100_000 }),
  few: numberOption(250, 'the same once more with so many subscribers', { min: 1, max: 6_000 }),
  'few-changes': numberOption(100, 'and so many changes a second', { min: 1, max: 100_000 }),
  services: numberOption(10_000, 'services, and endpoint slices', { min: 1, max: 100_000 }),
  seconds: numberOption(20, 'seconds of changes', { min: 1, max: 3_600 }),
  only: partsOption(PARTS, 'these parts alone'),
  ...CONTAINER_OPTIONS,
};

type Values = OptionValues<typeof OPTIONS>;

async function run(values: Values, { report, owned, progress }: CommandContext): Promise<void> {
  const { runs, services, seconds, only } = values;
  const programs = programsOf({ ...values, alone: true, 'real-dnsmasq': undefined });
  const many = { subscribers: values.subscribers, changes: values.changes };
  const few = { subscribers: values.few, changes: values['few-changes'] };
  const parts = {
    few: { ...few, title: `${few.subscribers} subscribers`, part: measureFew },
    replicas: { ...few, title: `${few.subscribers} node-caches`, part: measureReplicas },
    many: { ...many, title: `${many.subscribers} subscribers`, part: measureMany },
    herd: { ...many, title: `${many.subscribers} subscribers come back`, part: measureHerd },
  };
  for (const word of only) {
    const { title, part, subscribers, changes } = parts[word];
    const series = new Series();
    const add: Series['add'] = (name, value, kind) => series.add(`${title}: ${name}`, value, kind);
    for (let i = 1; i <= runs; i++) {
      progress(`run ${i} of ${runs}: ${title}`);
      await part({ programs, owned, add, services, seconds, subscribers, changes });
    }
    series.addTo(report, title);
  }
}

/** What it takes one server to tell many subscribers what changes, and to have all of them come back. */
export const FAN_OUT: Command<typeof OPTIONS> = {
  name: 'fan-out',
  summary:
    'many subscribers of one dnsmasq: CPU, memory, how fresh names are, and all come back at once',
  options: OPTIONS,
  format: 'markdown',
  run,
};
