import { setTimeout as delay } from 'node:timers/promises';
import {
  type Command,
  cpuUsage,
  MeasureError,
  numberOption,
  numbersOption,
  type OptionValues,
  peakRssBytes,
  resetPeak,
  rssBytes,
  type CommandContext,
  usageSince,
} from '@kube-dns/testkit';
import { expectationsOf } from '../cluster/cluster-plan.js';
import type { ProbeWindow } from '../dns/stall-probe.js';
import { COMMON_OPTIONS, programOption, rssBarMib, SIZE_OPTIONS } from './command.js';
import { ClusterTestbed } from './cluster-testbed.js';
import { measureGrowth } from './growth.js';

const OPTIONS = {
  ...SIZE_OPTIONS,
  settle: numberOption(5, 'seconds of idleness after the start', { max: 600 }),
  relists: numberOption(1, 'lists forced while queries run', { max: 100 }),
  rate: numberOption(2_000, 'queries a second meanwhile', { min: 1, max: 50_000 }),
  sizes: numbersOption([], 'services with a slice each, one size after the other: how all grows', {
    min: 1,
    max: 100_000,
  }),
  coredns: programOption('with --sizes: a coredns to compare with'),
  ...COMMON_OPTIONS,
};

const MIB = 2 ** 20;
/** For 2 cores, with 10,000 services and 50,000 slices. */
const BARS = { readySeconds: 15, cpuSeconds: 3, stallMs: 50 };

/** How long the load runs before and after a forced list, so that its end is seen too. */
const MARGIN_MS = 1_000;
const RELIST_LIMIT_MS = 120_000;

function addStall({ report }: CommandContext, when: string, window: ProbeWindow): void {
  report.add(`stall ${when}, longest`, window.answerMs.max, 'ms', BARS.stallMs);
  report.add(`stall ${when}, p99 of probes`, window.answerMs.p99, 'ms');
  report.add(`probes without an answer ${when}`, window.lost, '', 0);
  report.add(`probe itself late ${when}, longest`, window.ownDelayMs.max, 'ms');
}

type Values = OptionValues<typeof OPTIONS>;
type Probe = Awaited<ReturnType<ClusterTestbed['startProbe']>>;

async function run(values: Values, context: CommandContext): Promise<void> {
  const { sizes, coredns, node, kubedns: bundle } = values;
  if (sizes.length > 0) {
    const { endpoints: endpointsPerSlice, headless, settle: settleSeconds } = values;
    const flags = { nodeFlags: values['node-flags'], kubednsFlags: values['kubedns-flags'] };
    const limits = { settleSeconds, limitSeconds: values['ready-limit'] };
    const cluster = { sizes, endpointsPerSlice, headless };
    const programs = { node, kubedns: bundle, coredns };
    return measureGrowth({ ...cluster, ...limits, ...programs, ...flags }, context);
  }
  const { report, progress } = context;
  const testbed = await ClusterTestbed.prepare(values, context);
  const rssBar = rssBarMib(testbed.plan.size);
  const probe = await testbed.startProbe();
  const before = await testbed.cluster.call('status');
  const clusterBefore = cpuUsage(testbed.cluster.pid);

  const kubedns = await testbed.startKubedns();
  const { pid, startedMs } = kubedns.server;
  const readyMs = await testbed.ready(kubedns);
  const loading = await probe.call('look');
  const {
    ownDelayMs,
    lists,
    sentBytes,
    rssBytes: clusterRss,
  } = await testbed.cluster.call('status');
  const { userMs, systemMs } = cpuUsage(pid);
  const clusterCpu = usageSince(clusterBefore, cpuUsage(testbed.cluster.pid));
  report.add('API server, memory', clusterRss / MIB, 'MiB');
  report.add('API server, lists and pages', lists, '');
  report.add('API server, sent until ready', (sentBytes - before.sentBytes) / MIB, 'MiB');
  report.add('API server, CPU until ready', (clusterCpu.userMs + clusterCpu.systemMs) / 1_000, 's');
  report.add('API server itself late, longest', ownDelayMs.max, 'ms');
  report.add('ready after', (readyMs - startedMs) / 1_000, 's', BARS.readySeconds);
  report.add('first answer after', ((loading.firstAnswerMs ?? NaN) - startedMs) / 1_000, 's');
  report.add('CPU until ready', (userMs + systemMs) / 1_000, 's', BARS.cpuSeconds);
  addStall(context, 'while loading', loading);
  report.add('peak RSS when ready', peakRssBytes(pid) / MIB, 'MiB', rssBar);
  report.add('RSS when ready', rssBytes(pid) / MIB, 'MiB');

  progress(`ready; waiting ${values.settle} s`);
  await delay(values.settle * 1_000);
  addStall(context, 'at rest', await probe.call('look'));
  report.add('peak RSS so far', peakRssBytes(pid) / MIB, 'MiB', rssBar);
  report.add('RSS at rest', rssBytes(pid) / MIB, 'MiB');

  for (let i = 1; i <= values.relists; i++) {
    progress(`forcing list ${i} of ${values.relists} under ${values.rate} queries a second`);
    await relist(testbed, probe, pid, { values, context, rssBar, number: i });
    kubedns.server.check();
  }
  report.add('RSS in the end', rssBytes(pid) / MIB, 'MiB');
}

interface RelistRun {
  readonly values: Values;
  readonly context: CommandContext;
  readonly rssBar: number;
  readonly number: number;
}

async function relist(
  testbed: ClusterTestbed,
  probe: Probe,
  pid: number,
  { values, context, rssBar, number }: RelistRun,
): Promise<void> {
  const { report } = context;
  const load = testbed.startLoad();
  const watcher = await testbed.startWatcher();
  await load.call('start', testbed.dnsPort, values.rate, expectationsOf(testbed.plan));
  await delay(MARGIN_MS);
  addStall(context, `under queries ${number}`, await probe.call('look'));
  const before = await testbed.cluster.call('status');
  const isPeakOwn = resetPeak(pid);
  const cpu = cpuUsage(pid);

  const { atMs, expectations } = await testbed.cluster.call('forceRelist');
  let doneMs = atMs;
  for (const expectation of expectations) {
    const seenMs = await watcher.call('waitFor', expectation, RELIST_LIMIT_MS);
    if (Number.isNaN(seenMs)) {
      throw new MeasureError(`${expectation.name} was not served after a forced list`);
    }
    doneMs = Math.max(doneMs, seenMs);
  }
  const { userMs, systemMs } = usageSince(cpu, cpuUsage(pid));
  await delay(MARGIN_MS);
  const window = await probe.call('look');
  const after = await testbed.cluster.call('status');
  const result = await load.call('finish');
  await Promise.all([load.close(), watcher.close()]);

  const when = `in relist ${number}`;
  report.add(`relist ${number}, all served after`, (doneMs - atMs) / 1_000, 's');
  report.add(`relist ${number}, CPU with queries`, (userMs + systemMs) / 1_000, 's');
  report.add(`relist ${number}, lists and pages`, after.lists - before.lists, '');
  report.add(`relist ${number}, sent`, (after.sentBytes - before.sentBytes) / MIB, 'MiB');
  report.add(`relist ${number}, watches`, after.watches - before.watches, '');
  addStall(context, when, window);
  report.add(`peak RSS ${when}`, peakRssBytes(pid) / MIB, 'MiB', rssBar);
  if (!isPeakOwn) report.note('The peak could not be reset: it is that of the whole run.');
  report.add(`queries ${when}`, result.sent, '');
  report.add(`wrong answers ${when}`, result.wrong, '', 0);
  report.add(`missing answers ${when}`, result.missing, '', 0);
  report.add(`answer time ${when}, p99`, result.answerMs.p99, 'ms');
  report.add(`answer time ${when}, longest`, result.answerMs.max, 'ms');
  report.add(`load itself late ${when}, longest`, result.ownDelayMs.max, 'ms');
  for (const example of result.examples) report.note(`wrong: ${example}`);
}

/** Memory, start and stalls with a cluster of a given size, at the start and through a relist. */
export const KUBEDNS_SCALE: Command<typeof OPTIONS> = {
  name: 'kubedns-scale',
  summary: 'memory, start and stalls with a large cluster, through a relist too',
  options: OPTIONS,
  format: 'markdown',
  run,
};
