import { setTimeout as delay } from 'node:timers/promises';
import {
  type Command,
  type CommandContext,
  cpuUsage,
  formatValue,
  monotonicMs,
  numberOption,
  type OptionValues,
  Owned,
  Remote,
  type Section,
  spreadOf,
  usageSince,
} from '@kube-dns/testkit';
import { changesOf, type Toggle, togglesOf } from '../cluster/changes.js';
import type { ChangeWatcherMethods } from '../dns/change-watcher.js';
import type { Subject } from '../load/scores.js';
import { ServerTestbed, type TestbedCluster } from '../load/testbed.js';
import { realStockArguments } from '../servers/peers.js';
import { LOAD_OPTIONS, programOption, programsOf, SIZE_OPTIONS, sizeOf } from './command.js';

const OPTIONS = {
  ...SIZE_OPTIONS,
  services: numberOption(1_000, 'services', { min: 1, max: 100_000 }),
  slices: numberOption(2_000, 'endpoint slices', { max: 200_000 }),
  events: numberOption(1_000, 'events a second of other objects', { max: 100_000 }),
  seconds: numberOption(60, 'seconds of changes for each server', { min: 1, max: 3_600 }),
  pause: numberOption(100, 'ms from when a change was seen to the next of its object', {
    max: 60_000,
  }),
  coredns: programOption('a coredns to compare with, with `cache 30`'),
  ...LOAD_OPTIONS,
};

type Values = OptionValues<typeof OPTIONS>;

/** The bars of the design, in ms. */
const BARS = { p50: 5, p99: 50 };
/** Longer than any TTL here; a change that is not seen by then counts as this. */
const LIMIT_MS = 40_000;
const OURS = 'our pod';

/** The times from the reply of the API to the right answer, in ms, by change. */
type Lags = ReadonlyMap<string, number[]>;

/**
 * Changes one object again and again, as soon as a cache has the answer from before: there and back once at least, so
 * that every change has a figure on a machine of any speed.
 */
async function timeToggle(
  cluster: TestbedCluster,
  watcher: Remote<ChangeWatcherMethods>,
  {
    toggle,
    number,
    lags,
  }: { readonly toggle: Toggle; readonly number: number; readonly lags: Lags },
  { pause, endMs }: { readonly pause: number; readonly endMs: number },
): Promise<void> {
  for (let turn = 1; turn <= 2 || monotonicMs() < endMs; turn++) {
    const state = turn % 2 === 0 ? 0 : 1;
    const { change, expectation } = toggle[state];
    const before = toggle[state === 0 ? 1 : 0].expectation;
    // The second of two answers comes from the cache.
    for (let i = 0; i < 2; i++) await watcher.call('waitFor', before, LIMIT_MS);
    // The questions begin before the change and find it as soon as it is served.
    const seen = watcher.call('waitFor', expectation, LIMIT_MS);
    const writtenMs = await cluster.remote.call('toggle', number, state);
    lags.get(change)!.push((await seen) - writtenMs);
    await delay(pause);
  }
}

function sectionOf(title: string, lags: Lags): Section {
  const rows = [...lags, ['any', [...lags.values()].flat()] as const].map(([change, some]) => {
    const { count, p50, p90, p99, max } = spreadOf(withLimit(some));
    return [change, ...[count, p50, p90, p99, max].map(formatValue)];
  });
  const header = ['from the reply of the API, ms', 'changes', 'p50', 'p90', 'p99', 'longest'];
  return { title, header, rows };
}

/** A change that was never seen counts as the limit. */
function withLimit(lags: readonly number[]): number[] {
  return lags.map((lag) => (Number.isNaN(lag) ? LIMIT_MS : lag));
}

async function timeServer(
  cluster: TestbedCluster,
  { port }: Subject,
  values: Values,
  { owned }: { readonly owned: Owned },
): Promise<{ readonly lags: Lags; readonly watcher: Remote<ChangeWatcherMethods> }> {
  const toggles = togglesOf(cluster.plan);
  const lags: Lags = new Map(changesOf(toggles).map((change) => [change, []]));
  const entry = new URL('../dns/change-watcher.js#ChangeWatcher', import.meta.url);
  const watcher = owned.add(new Remote<ChangeWatcherMethods>('the watcher', entry));
  await watcher.call('open', port);
  await cluster.remote.call('startToggles');
  const times = { pause: values.pause, endMs: monotonicMs() + values.seconds * 1_000 };
  await Promise.all(
    toggles.map((toggle, number) => timeToggle(cluster, watcher, { toggle, number, lags }, times)),
  );
  return { lags, watcher };
}

/** Ours has bars; what ran with it is measured, too. */
async function timeOurs(
  testbed: ServerTestbed,
  cluster: TestbedCluster,
  values: Values,
  { report }: CommandContext,
): Promise<void> {
  const { kubedns, dnsmasq } = await testbed.pod(cluster);
  const parts = [kubedns, dnsmasq];
  const before = parts.map(({ pid }) => cpuUsage(pid));
  const startMs = monotonicMs();
  await cluster.remote.call('status');
  await cluster.remote.call('startNoise', values.events);
  const { lags, watcher } = await timeServer(cluster, dnsmasq, values, testbed);
  const written = await cluster.remote.call('stopNoise');
  const elapsedMs = monotonicMs() - startMs;
  report.addSection(sectionOf(OURS, lags), Object.fromEntries(lags));
  for (const [change, some] of [...lags, ['any change', [...lags.values()].flat()] as const]) {
    const { p50, p99 } = spreadOf(withLimit(some));
    report.add(`${change}, p50`, p50, 'ms', BARS.p50);
    report.add(`${change}, p99`, p99, 'ms', BARS.p99);
  }
  const never = [...lags.values()].flat().filter(Number.isNaN).length;
  report.add('changes never seen', never, '', 0);
  report.add('events meanwhile', (1_000 * written) / elapsedMs, 'a second');
  for (const [i, { name, pid, check }] of parts.entries()) {
    check();
    const { userMs, systemMs } = usageSince(before[i]!, cpuUsage(pid));
    report.add(`CPU of ${name}`, (100 * (userMs + systemMs)) / elapsedMs, '% of a core');
  }
  const { ownDelayMs: server } = await cluster.remote.call('status');
  const client = await watcher.call('ownDelayMs');
  for (const [name, { p99, max }] of Object.entries({ 'API server': server, client })) {
    report.add(`${name} itself late, p99`, p99, 'ms');
    report.add(`${name} itself late, longest`, max, 'ms');
  }
}

async function timePeer(
  name: string,
  cluster: TestbedCluster,
  subject: Subject,
  { values, context, owned }: { values: Values; context: CommandContext; owned: Owned },
): Promise<void> {
  await cluster.remote.call('startNoise', values.events);
  const { lags } = await timeServer(cluster, subject, values, { owned });
  await cluster.remote.call('stopNoise');
  context.report.addSection(sectionOf(name, lags), Object.fromEntries(lags));
}

async function run(values: Values, context: CommandContext): Promise<void> {
  const { report, owned, progress } = context;
  const { coredns } = values;
  const programs = programsOf(values, { ...(coredns !== undefined && { coredns }) });
  const cluster = await new ServerTestbed(programs, owned, undefined).cluster(sizeOf(values));
  const turn = async (name: string, time: (testbed: ServerTestbed) => Promise<void>) => {
    progress(`${name}: changes among ${values.events} events a second for ${values.seconds} s`);
    const own = owned.add(new Owned());
    await time(new ServerTestbed(programs, own, undefined));
    await own.close();
  };
  await turn(OURS, (testbed) => timeOurs(testbed, cluster, values, context));
  if (programs.realDnsmasq !== undefined) {
    const name = 'dnsmasq in front of our kubedns';
    await turn(name, async (testbed) => {
      const { port } = await testbed.kubedns(cluster);
      const [subject] = await testbed.realDnsmasq({ args: realStockArguments(port) });
      await timePeer(name, cluster, subject!, { values, context, owned: testbed.owned });
    });
  }
  if (coredns !== undefined) {
    const name = 'CoreDNS with cache 30';
    await turn(name, async (testbed) => {
      const knownName = cluster.plan.dnsName(0);
      const [subject] = await testbed.coredns(cluster, { knownName, stock: {} });
      await timePeer(name, cluster, subject!, { values, context, owned: testbed.owned });
    });
  }
  report.note(
    'All share the cores: what the client or the API server is late is in the times, too.',
  );
  report.note('The real dnsmasq and CoreDNS cache negative answers, and learn of no change.');
}

/** How soon a change of the cluster is seen through the cache of the pod, among many others. */
export const POD_CHANGES: Command<typeof OPTIONS> = {
  name: 'pod-changes',
  summary: 'how soon a change is seen through the cache of dnsmasq, under a stream of events',
  options: OPTIONS,
  format: 'markdown',
  run,
};
