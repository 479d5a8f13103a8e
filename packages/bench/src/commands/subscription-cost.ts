import { setTimeout as delay } from 'node:timers/promises';
import {
  anonymousBytes,
  type Command,
  type CommandContext,
  MeasureError,
  numberOption,
  type OptionValues,
  Owned,
  partsOption,
  Remote,
} from '@kube-dns/testkit';
import { type ClusterSize, ZONE } from '../cluster/cluster-plan.js';
import type { SubscriberCrowdMethods } from '../dns/subscriber-crowd.js';
import { cpuOf } from '../load/cpu-share.js';
import { Series, type Subject } from '../load/scores.js';
import { type Programs, ServerTestbed } from '../load/testbed.js';
import { stockArguments } from '../servers/peers.js';
import { CONTAINER_OPTIONS, programsOf } from './command.js';

/** What the parts of the measurement share. */
interface CostContext {
  readonly programs: Programs;
  readonly owned: Owned;
  readonly series: Series;
  /** By how many the memory of one is measured. */
  readonly subscriptions: number;
  readonly services: number;
  readonly events: number;
  readonly seconds: number;
}

/** A service in ten is headless, each has a slice. */
function clusterSize({ services }: CostContext): ClusterSize {
  return { services, slices: services, endpointsPerSlice: 2, headless: 0.1 };
}

const CROWD = new URL('../dns/subscriber-crowd.js#SubscriberCrowd', import.meta.url);
const BAR_PERCENT = 3;
const FIGURE = { unit: '% of a core', digits: 2 } as const;
const JUDGED = { ...FIGURE, bar: { atMost: BAR_PERCENT } };

/** What a stream of events costs with a subscription, beyond what it costs at the same time without. */
async function measureEvents(context: CostContext): Promise<void> {
  const { owned, series, programs, events, seconds } = context;
  const own = owned.add(new Owned());
  const testbed = new ServerTestbed(programs, own, undefined);
  const cluster = await testbed.cluster(clusterSize(context));
  const kubedns = await testbed.kubedns(cluster);
  const kubednsAlone = await testbed.kubedns(cluster);
  const dnsmasq = await testbed.subscribedDnsmasq(kubedns);
  const unsubscribed = ['--no-subscribe', ...stockArguments(kubedns.port)];
  const dnsmasqAlone = await testbed.ourDnsmasq(unsubscribed);
  await cluster.remote.call('startNoise', events);
  // What is called all the time is compiled by then.
  await delay(seconds * 1_000);
  const pairs = { kubedns: [kubedns, kubednsAlone], dnsmasq: [dnsmasq, dnsmasqAlone] };
  const used = await cpuOf(Object.values(pairs).flat(), seconds);
  await cluster.remote.call('stopNoise');
  for (const [at, name] of Object.keys(pairs).entries()) {
    const [subscribed = NaN, alone = NaN] = used.slice(2 * at);
    series.add(`${name} with a subscription`, subscribed, FIGURE);
    series.add(`${name} without`, alone, FIGURE);
    series.add(`${name}: cost of the subscription`, subscribed - alone, JUDGED);
  }
  await own.close();
}

const KIB = 1024;
const BAR_KIB = 200;
/** After it a server has done what comes with a connection. */
const SETTLE_MS = 500;
const COLLECTOR = new URL('../servers/collect-on-signal.js', import.meta.url).pathname;

/** Memory once garbage is collected, in KiB. */
interface Memory {
  /** JavaScript's: repeats to a few KiB. */
  readonly heap: number;
  /** The anonymous part of RSS: with what no heap counts, and with pages that are not full. */
  readonly rss: number;
}

/** What one idle subscription takes at kubedns, and what it takes in dnsmasq. */
async function measureMemory(context: CostContext): Promise<void> {
  const { owned, subscriptions } = context;
  const own = owned.add(new Owned());
  const testbed = new ServerTestbed(collecting(context.programs), own, undefined);
  const cluster = await testbed.cluster(clusterSize(context));
  const kubedns = await testbed.kubedns(cluster, { address: '0.0.0.0' });
  const crowd = own.add(new Remote<SubscriberCrowdMethods>('the subscribers', CROWD));
  const kubednsMemory = new MemoryOf(kubedns);
  const none = await kubednsMemory.read();
  await crowd.call('join', kubedns.port, 1);
  const one = await kubednsMemory.read();
  await crowd.call('join', kubedns.port, subscriptions);
  const more = await kubednsMemory.read();
  addFigures(context, 'kubedns', { none, one, more });
  await crowd.call('leave');

  const without = await dnsmasqMemory(testbed, serversOf(kubedns, 1), false);
  const first = await dnsmasqMemory(testbed, serversOf(kubedns, 1), true);
  const manyWithout = await dnsmasqMemory(testbed, serversOf(kubedns, subscriptions), false);
  const many = await dnsmasqMemory(testbed, serversOf(kubedns, subscriptions), true);
  addFigures(context, 'dnsmasq', { none: without, one: first, manyWithout, more: many });
  await own.close();
}

function addFigures(
  { series, subscriptions }: CostContext,
  name: string,
  read: { none: Memory; one: Memory; manyWithout?: Memory; more: Memory },
): void {
  const { none, one, manyWithout = one, more } = read;
  const judged = { unit: 'KiB', digits: 1, bar: { atMost: BAR_KIB } } as const;
  series.add(`${name}: the first subscription, heap`, one.heap - none.heap, judged);
  // It is small beside what the pages of one process differ from those of another.
  const rss = { unit: 'KiB', digits: 1 } as const;
  series.add(`${name}: the first subscription, RSS`, one.rss - none.rss, rss);
  for (const kind of ['heap', 'rss'] as const) {
    const each = (more[kind] - manyWithout[kind]) / subscriptions;
    series.add(`${name}: each of ${subscriptions}, ${kind === 'rss' ? 'RSS' : kind}`, each, judged);
  }
}

/** Programs whose garbage can be collected. */
function collecting(programs: Programs): Programs {
  return {
    ...programs,
    nodeFlags: [...programs.nodeFlags, `--import=${COLLECTOR}`],
  };
}

class MemoryOf {
  readonly #subject: Subject;
  #count = 0;

  constructor(subject: Subject) {
    this.#subject = subject;
  }

  async read(): Promise<Memory> {
    const { server, pid } = this.#subject;
    if (server === undefined) throw new MeasureError('there is no program to ask for its memory');
    await delay(SETTLE_MS);
    server.signal('SIGPWR');
    const [, bytes] = await server.waitForLine(new RegExp(`^memory ${++this.#count} (\\d+)$`, 'm'));
    return { heap: Number(bytes) / KIB, rss: anonymousBytes(pid) / KIB };
  }
}

/** A server for the zone at as many addresses of this machine, behind all of which is one kubedns. */
function serversOf({ port }: Subject, count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => `--server=/${ZONE}/127.0.0.${i + 1}#${port}`);
}

async function dnsmasqMemory(
  testbed: ServerTestbed,
  servers: readonly string[],
  isSubscribed: boolean,
): Promise<Memory> {
  const flags = ['--cache-size=1000', ...(isSubscribed ? [] : ['--no-subscribe'])];
  const dnsmasq = await testbed.ourDnsmasq([...flags, ...servers], { isSubscribed });
  const memory = await new MemoryOf(dnsmasq).read();
  await dnsmasq.server?.close();
  return memory;
}

const PARTS = {
  memory: { title: 'Memory', measure: measureMemory },
  cpu: { title: 'CPU', measure: measureEvents },
} as const;

const OPTIONS = {
  runs: numberOption(5, 'runs of each part', { min: 1, max: 100 }),
  subscriptions: numberOption(100, 'subscriptions by which the memory of one is measured', {
    min: 1,
    max: 126,
  }),
  services: numberOption(2_000, 'services, and endpoint slices', { min: 1, max: 100_000 }),
  events: numberOption(1_000, 'events a second', { min: 1, max: 100_000 }),
  seconds: numberOption(10, 'seconds of events, and as many without a subscription', {
    min: 1,
    max: 600,
  }),
  only: partsOption(['memory', 'cpu'], 'these parts alone'),
  ...CONTAINER_OPTIONS,
};

type Values = OptionValues<typeof OPTIONS>;

async function run(values: Values, { report, owned, progress }: CommandContext): Promise<void> {
  const { runs, subscriptions, services, events, seconds, only } = values;
  const programs = programsOf({ ...values, alone: true, 'real-dnsmasq': undefined });
  for (const part of only) {
    const { title, measure } = PARTS[part];
    const series = new Series();
    for (let i = 1; i <= runs; i++) {
      progress(`run ${i} of ${runs}: ${title}`);
      await measure({ programs, owned, series, subscriptions, services, events, seconds });
    }
    series.addTo(report, title);
  }
  report.note('Memory is read after garbage was collected; RSS is the anonymous part of it.');
}

/** What it costs kubedns to announce changes, and dnsmasq to get them. */
export const SUBSCRIPTION_COST: Command<typeof OPTIONS> = {
  name: 'subscription-cost',
  summary: 'memory of a subscription, and CPU of 1,000 events a second on both sides',
  options: OPTIONS,
  format: 'markdown',
  run,
};
