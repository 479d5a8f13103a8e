import { setTimeout as delay } from 'node:timers/promises';
import {
  type Command,
  cpuUsage,
  monotonicMs,
  numberOption,
  type OptionValues,
  peakRssBytes,
  rssBytes,
  spreadOf,
  type CommandContext,
  usageSince,
} from '@kube-dns/testkit';
import type { ChangeKind } from '../cluster/changes.js';
import { COMMON_OPTIONS, rssBarMib, SIZE_OPTIONS } from './command.js';
import { ClusterTestbed } from './cluster-testbed.js';

const OPTIONS = {
  ...SIZE_OPTIONS,
  changes: numberOption(300, 'changes that are timed one by one', { min: 1, max: 100_000 }),
  pause: numberOption(20, 'ms from one to the next', { max: 60_000 }),
  events: numberOption(1_000, 'events a second afterwards', { min: 1, max: 100_000 }),
  seconds: numberOption(60, 'seconds of these', { min: 1, max: 3_600 }),
  'sample-every': numberOption(100, 'ms from one timed change among them to the next', {
    min: 1,
    max: 10_000,
  }),
  ...COMMON_OPTIONS,
};

const MIB = 2 ** 20;
/** The bars of the design: a change is served within 50 ms, and a steady stream makes it no later. */
const BARS = { changeMs: 50, growthMs: 10 };
/** A change that is not served after this time counts as lost. */
const LIMIT_MS = 10_000;
const WINDOW_MS = 10_000;

type Values = OptionValues<typeof OPTIONS>;
type Watcher = Awaited<ReturnType<ClusterTestbed['startWatcher']>>;

/** Writes one change and waits for it: ms from the write to the first answer that shows it. */
async function timeChange(
  testbed: ClusterTestbed,
  watcher: Watcher,
  kind: ChangeKind,
): Promise<number> {
  const expectation = await testbed.cluster.call('prepare', kind);
  // The questions begin before the write, so that they find it as soon as it is served.
  const seen = watcher.call('waitFor', expectation, LIMIT_MS);
  const writtenMs = await testbed.cluster.call('write');
  return (await seen) - writtenMs;
}

function countLost(lags: readonly number[]): number {
  return lags.filter((lag) => Number.isNaN(lag)).length;
}

/** The lags; a lost change counts as the time limit. */
function withLimit(lags: readonly number[]): number[] {
  return lags.map((lag) => (Number.isNaN(lag) ? LIMIT_MS : lag));
}

async function timeSingles(
  testbed: ClusterTestbed,
  watcher: Watcher,
  values: Values,
  { report }: CommandContext,
): Promise<void> {
  const kinds = await testbed.cluster.call('kinds');
  const lags = new Map<ChangeKind, number[]>(kinds.map((kind) => [kind, []]));
  for (let i = 0; i < values.changes; i++) {
    const kind = kinds[i % kinds.length]!;
    lags.get(kind)!.push(await timeChange(testbed, watcher, kind));
    await delay(values.pause);
  }
  for (const [kind, some] of lags) {
    const { p50, p99, max } = spreadOf(withLimit(some));
    report.add(`change of ${kind}, median`, p50, 'ms');
    report.add(`change of ${kind}, p99`, p99, 'ms', BARS.changeMs);
    report.add(`change of ${kind}, longest`, max, 'ms');
  }
  const all = [...lags.values()].flat();
  report.add('any change, p99', spreadOf(withLimit(all)).p99, 'ms', BARS.changeMs);
  report.add('changes never served', countLost(all), '', 0);
}

async function timeStream(
  testbed: ClusterTestbed,
  watcher: Watcher,
  pid: number,
  { values, context }: { readonly values: Values; readonly context: CommandContext },
): Promise<void> {
  const { report, progress } = context;
  const kinds = await testbed.cluster.call('kinds');
  const before = await testbed.cluster.call('status');
  const medians: number[] = [];
  let lost = 0;
  let taken = 0;
  await testbed.cluster.call('startNoise', values.events);
  const startMs = monotonicMs();
  const endMs = startMs + values.seconds * 1_000;
  for (let fromMs = startMs; fromMs < endMs; fromMs += WINDOW_MS) {
    const toMs = Math.min(fromMs + WINDOW_MS, endMs);
    const cpu = cpuUsage(pid);
    const cpuFromMs = monotonicMs();
    const lags: number[] = [];
    while (monotonicMs() < toMs) {
      const nextMs = monotonicMs() + values['sample-every'];
      lags.push(await timeChange(testbed, watcher, kinds[taken++ % kinds.length]!));
      await delay(Math.max(0, nextMs - monotonicMs()));
    }
    const { userMs, systemMs } = usageSince(cpu, cpuUsage(pid));
    const percent = (100 * (userMs + systemMs)) / (monotonicMs() - cpuFromMs);
    const { p50, p99, max } = spreadOf(withLimit(lags));
    const when = `${Math.round((fromMs - startMs) / 1_000)}-${Math.round((toMs - startMs) / 1_000)} s`;
    report.add(`lag at ${when}, median`, p50, 'ms');
    report.add(`lag at ${when}, p99`, p99, 'ms');
    report.add(`lag at ${when}, longest`, max, 'ms');
    report.add(`CPU of kubedns at ${when}`, percent, '% of a core');
    progress(`${when}: lag ${p50.toFixed(1)} ms, longest ${max.toFixed(1)} ms`);
    medians.push(p50);
    lost += countLost(lags);
  }
  const elapsedSeconds = (monotonicMs() - startMs) / 1_000;
  const written = await testbed.cluster.call('stopNoise');
  const after = await testbed.cluster.call('status');
  report.add('events written', written / elapsedSeconds, 'a second');
  const growthMs = Math.max(...medians) - medians[0]!;
  report.add('growth of the median since the first', growthMs, 'ms', BARS.growthMs);
  report.add('changes never served meanwhile', lost, '', 0);
  report.add('watches begun anew meanwhile', after.watches - before.watches, '', 0);
  report.add('API server itself late, longest', after.ownDelayMs.max, 'ms');
}

async function run(values: Values, context: CommandContext): Promise<void> {
  const { report, progress } = context;
  const testbed = await ClusterTestbed.prepare(values, context);
  const kubedns = await testbed.startKubedns();
  const { pid } = kubedns.server;
  await testbed.ready(kubedns);
  const watcher = await testbed.startWatcher();
  progress(`ready; timing ${values.changes} changes`);
  await timeSingles(testbed, watcher, values, context);
  kubedns.server.check();

  progress(`${values.events} events a second for ${values.seconds} s`);
  const probe = await testbed.startProbe();
  await timeStream(testbed, watcher, pid, { values, context });
  const { answerMs, lost, ownDelayMs } = await probe.call('look');
  report.add('stall meanwhile, longest', answerMs.max, 'ms');
  report.add('stall meanwhile, p99 of probes', answerMs.p99, 'ms');
  report.add('probes without an answer meanwhile', lost, '', 0);
  report.add('probe itself late meanwhile, longest', ownDelayMs.max, 'ms');
  report.add('peak RSS', peakRssBytes(pid) / MIB, 'MiB', rssBarMib(testbed.plan.size));
  report.add('RSS in the end', rssBytes(pid) / MIB, 'MiB');
}

/** How soon DNS shows what happens in the cluster, one change at a time and under a stream of them. */
export const KUBEDNS_CHANGES: Command<typeof OPTIONS> = {
  name: 'kubedns-changes',
  summary: 'how soon a change of the cluster is served, at rest and under a stream of events',
  options: OPTIONS,
  run,
};
