import { setTimeout as delay } from 'node:timers/promises';
import { cpuUsage, monotonicMs, Owned, usageSince } from '@kube-dns/testkit';
import type { Subject } from '../load/contest.js';
import { ServerTestbed } from '../load/server-testbed.js';
import { stockArguments } from '../servers/stock-arguments.js';
import { clusterSize, type CostContext } from './cost-context.js';

const BAR_PERCENT = 3;
const FIGURE = { unit: '% of a core', digits: 2 } as const;
const JUDGED = { ...FIGURE, bar: { atMost: BAR_PERCENT } };
/** A program that has just started is not what it is later. Not longer than what is measured after it. */
const WARM_UP_MS = 3_000;

/** What a stream of events costs with a subscription, beyond what it costs without. */
export async function measureEvents(context: CostContext): Promise<void> {
  const { owned, series, programs, events, seconds } = context;
  const own = owned.add(new Owned());
  const testbed = new ServerTestbed(programs, own, undefined);
  const cluster = await testbed.cluster(clusterSize(context));
  const kubedns = await testbed.kubedns(cluster);
  const without = await testbed.ourDnsmasq([...stockArguments(kubedns.port), '--no-subscribe']);
  await cluster.remote.call('startNoise', events);
  // What a program does at first, and what drifts, is in both of the windows around the one with a subscription.
  await delay(seconds * 1_000);
  const [kubednsBefore = NaN] = await cpuOf([kubedns], context);
  const told = await testbed.subscribedDnsmasq(kubedns);
  const [kubednsTold = NaN, dnsmasqTold = NaN, dnsmasqWithout = NaN] = await cpuOf(
    [kubedns, told, without],
    context,
  );
  await told.server?.close();
  const [kubednsAfter = NaN] = await cpuOf([kubedns], context);
  const kubednsAlone = (kubednsBefore + kubednsAfter) / 2;
  await cluster.remote.call('stopNoise');
  series.add('kubedns with a subscription', kubednsTold, FIGURE);
  series.add('kubedns without', kubednsAlone, FIGURE);
  series.add('kubedns: cost of the subscription', kubednsTold - kubednsAlone, JUDGED);
  series.add('dnsmasq with its subscription', dnsmasqTold, FIGURE);
  series.add('dnsmasq without', dnsmasqWithout, FIGURE);
  series.add('dnsmasq: cost of the subscription', dnsmasqTold - dnsmasqWithout, JUDGED);
  await own.close();
}

/** The CPU time of each in the same seconds, in per cent of a core. */
async function cpuOf(
  subjects: readonly Subject[],
  { seconds }: CostContext,
): Promise<readonly number[]> {
  await delay(Math.min(WARM_UP_MS, seconds * 1_000));
  const before = subjects.map(({ pid }) => cpuUsage(pid));
  const startMs = monotonicMs();
  await delay(seconds * 1_000);
  const elapsedMs = monotonicMs() - startMs;
  return subjects.map(({ pid, check }, i) => {
    check();
    const { userMs, systemMs } = usageSince(before[i]!, cpuUsage(pid));
    return (100 * (userMs + systemMs)) / elapsedMs;
  });
}
