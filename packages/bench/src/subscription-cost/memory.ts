import { setTimeout as delay } from 'node:timers/promises';
import { anonymousBytes, MeasureError, Owned, Remote } from '@kube-dns/testkit';
import { ZONE } from '../cluster/cluster-plan.js';
import type { SubscriberCrowdMethods } from '../dns/subscriber-crowd.js';
import type { Subject } from '../load/contest.js';
import { type Programs, ServerTestbed, SUBSCRIBED } from '../load/server-testbed.js';
import { clusterSize, type CostContext } from './cost-context.js';

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
export async function measureMemory(context: CostContext): Promise<void> {
  const { owned, subscriptions } = context;
  const own = owned.add(new Owned());
  const testbed = new ServerTestbed(collecting(context.programs), own, undefined);
  const cluster = await testbed.cluster(clusterSize(context));
  const kubedns = await testbed.kubedns(cluster, { address: '0.0.0.0' });
  const entry = new URL('../dns/subscriber-crowd.js#SubscriberCrowd', import.meta.url);
  const crowd = own.add(new Remote<SubscriberCrowdMethods>('the subscribers', entry));
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
    nodeFlags: [...programs.nodeFlags, '--expose-gc', `--import=${COLLECTOR}`],
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
  const dnsmasq = await testbed.ourDnsmasq([...flags, ...servers]);
  if (isSubscribed) await dnsmasq.server?.waitForLine(SUBSCRIBED);
  const memory = await new MemoryOf(dnsmasq).read();
  await dnsmasq.server?.close();
  return memory;
}
