import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Command,
  ConfigVolume,
  monotonicMs,
  numberOption,
  type OptionValues,
  type Remote,
  type CommandContext,
  TemporaryFolder,
  textOption,
  PROGRAM_OPTIONS,
} from '@kube-dns/testkit';
import { BUSY_OPTION } from '../program-options.js';
import { ManifestPod } from '../fixtures/pod-containers.js';
import type { CheckingClientMethods } from './checking-client.js';
import { addFindings, type Sample, Sampler } from './findings.js';
import { type PodEnvironment, startCheckingClient, startEnvironment } from './pod-environment.js';
import { podConfig, Schedule, type SchedulePlan } from './cluster-state.js';
import { soakPlot } from './soak-plot.js';

const OPTIONS = {
  minutes: numberOption(5, 'minutes of load', { min: 0.05, max: 10_080, isWhole: false }),
  'warm-up': numberOption(0, 'minutes before growth counts; 0: 5, or a third of a shorter run', {
    isWhole: false,
  }),
  qps: numberOption(1_500, 'questions a second', { min: 1, max: 20_000 }),
  churn: numberOption(100, 'changes of services a second', { max: 2_000 }),
  churned: numberOption(6_000, 'services that change in turn', { min: 10, max: 50_000 }),
  settled: numberOption(1_000, 'services that never change', { min: 10, max: 10_000 }),
  'config-seconds': numberOption(10, 'seconds between two configurations', {
    min: 0.5,
    isWhole: false,
  }),
  'reconnect-seconds': numberOption(30, 'seconds between two losses of all watches', {
    min: 0.5,
    isWhole: false,
  }),
  'settle-seconds': numberOption(5, 'seconds for which a change may not show', {
    min: 0.1,
    isWhole: false,
  }),
  'record-ttl': numberOption(30, "kubedns's --record-ttl, for which dnsmasq caches records", {
    min: 1,
  }),
  'sample-seconds': numberOption(5, 'seconds between two looks', { min: 0.2, isWhole: false }),
  'rss-growth': numberOption(5, 'percent that RSS may grow by after the warm-up'),
  'p99-ratio': numberOption(1.5, 'p99 of the last third beside the second, at most', {
    isWhole: false,
  }),
  plot: textOption('', 'FILE', 'draw memory, rate and latency over time into this SVG file'),
  ...BUSY_OPTION,
  ...PROGRAM_OPTIONS,
};

type Values = OptionValues<typeof OPTIONS>;

const READY_LIMIT_MS = 60_000;
const DEFAULT_WARM_UP_MINUTES = 5;
const WARM_UP_PART = 1 / 3;
/** One loss of the watches in this many also loses the history. */
const RELIST_EVERY = 4;
const ANSWER_TIMEOUT_MS = 5_000;
const SOCKETS = 8;
const LOST_PERCENT = 0.01;
const MS = 1_000;
/** For how long a busy machine may go on until everything that a run is about has happened. */
const BUSY_LIMIT_MS = 60_000;

/** What a run goes on with. */
interface SoakTestbed extends Pick<PodEnvironment, 'cluster' | 'worldPorts'> {
  readonly pod: ManifestPod;
  readonly asker: Remote<CheckingClientMethods>;
  readonly volume: ConfigVolume;
  readonly resourceFolder: string;
}

function planOf(values: Values): Omit<SchedulePlan, 'startMs'> {
  const { churn: changesPerSecond, churned, settled } = values;
  return { changesPerSecond, churned, settled, configMs: values['config-seconds'] * MS };
}

async function start(values: Values, { owned }: CommandContext): Promise<SoakTestbed> {
  const folder = owned.add(new TemporaryFolder()).path;
  const resourceFolder = join(folder, 'resources');
  mkdirSync(resourceFolder);
  const { cluster, apiUrl, worldPorts } = await startEnvironment(owned, planOf(values));
  const volume = new ConfigVolume(join(folder, 'config'));
  await volume.put(podConfig(0, worldPorts));
  const pod = owned.add(
    await ManifestPod.start({
      node: values.node,
      nodeFlags: values['node-flags'],
      apiUrl,
      configPath: volume.path,
      resourceFolder,
      kubednsFlags: [`--record-ttl=${values['record-ttl']}`],
    }),
  );
  await pod.ready(READY_LIMIT_MS);
  const asker = startCheckingClient(owned);
  return { pod, cluster, asker, volume, worldPorts, resourceFolder };
}

/** Whether services and configurations have changed, and clients have right answers. */
function hasHappened(samples: readonly Sample[]): boolean {
  const { changes = 0, configGeneration = 0 } = samples.at(-1) ?? {};
  return changes > 0 && configGeneration > 0 && samples.some(({ answers }) => answers.right > 0);
}

/** Runs everything at its time until the end, and looks on. */
async function soak(
  values: Values,
  testbed: SoakTestbed,
  progress: CommandContext['progress'],
): Promise<readonly Sample[]> {
  const { pod, cluster, asker, volume, worldPorts } = testbed;
  const startMs = monotonicMs();
  const plan = { ...planOf(values), startMs };
  const schedule = new Schedule(plan);
  await cluster.call('follow', startMs);
  await asker.call('start', {
    plan,
    window: { settleMs: values['settle-seconds'] * MS, cacheMs: values['record-ttl'] * MS },
    queriesPerSecond: values.qps,
    ports: { dnsmasq: pod.ports.dns, kubedns: pod.ports.kubedns },
    timeoutMs: ANSWER_TIMEOUT_MS,
    retries: 0,
    sockets: SOCKETS,
  });
  const sampler = new Sampler(testbed);
  const samples: Sample[] = [];
  let endMs = startMs + values.minutes * 60 * MS;
  const latestMs = values.busy ? endMs + BUSY_LIMIT_MS : endMs;
  let [nextSampleMs, nextLossMs] = [startMs, startMs];
  let [config, losses] = [0, 0];
  for (let nowMs = startMs; nowMs < endMs; nowMs = monotonicMs()) {
    if (schedule.configVersion(nowMs) > config) {
      config = schedule.configVersion(nowMs);
      await volume.put(podConfig(config, worldPorts));
    }
    if (nowMs >= nextLossMs) {
      if (losses > 0) await cluster.call('reconnect', losses % RELIST_EVERY === 0);
      losses++;
      nextLossMs += values['reconnect-seconds'] * MS;
    }
    if (nowMs >= nextSampleMs) {
      if (nowMs > startMs) samples.push(await sampler.take());
      tell(samples.at(-1), progress);
      nextSampleMs += values['sample-seconds'] * MS;
    }
    const nextConfigMs = startMs + (config + 1) * plan.configMs;
    const nextMs = Math.min(nextSampleMs, nextLossMs, nextConfigMs, endMs);
    await delay(Math.max(1, nextMs - monotonicMs()));
    if (monotonicMs() >= endMs && !hasHappened(samples)) {
      endMs = Math.min(latestMs, monotonicMs() + values['sample-seconds'] * MS);
    }
  }
  const { examples, wrong, servfails, lost } = await asker.call('finish');
  const last = await sampler.take();
  // What was in flight at the end belongs to the last look.
  samples.push({ ...last, answers: { ...last.answers, wrong, servfails, lost, examples } });
  return samples;
}

function tell(sample: Sample | undefined, progress: CommandContext['progress']): void {
  if (sample === undefined) return;
  const { atSeconds, containers, answers, seconds } = sample;
  const mib = Object.entries(containers).map(([name, { rssBytes }]) => {
    return `${name} ${(rssBytes / 2 ** 20).toFixed(1)}`;
  });
  const rate = Math.round(answers.asked / seconds);
  progress(
    `${atSeconds.toFixed(0)} s: ${rate} questions/s, p99 ${answers.p99Ms.toFixed(1)} ms, ` +
      `${answers.wrong} wrong, ${answers.lost} lost; MiB: ${mib.join(', ')}`,
  );
  for (const example of answers.examples) progress(example);
}

async function run(values: Values, context: CommandContext): Promise<void> {
  const { report, progress } = context;
  const testbed = await start(values, context);
  progress(`the pod is ready; ${values.minutes} min of load`);
  const samples = await soak(values, testbed, progress);
  const warmUp =
    values['warm-up'] || Math.min(DEFAULT_WARM_UP_MINUTES, values.minutes * WARM_UP_PART);
  addFindings(report, samples, warmUp * 60, {
    rssGrowthPercent: values['rss-growth'],
    p99Ratio: values['p99-ratio'],
    lostPercent: LOST_PERCENT,
    busy: values.busy,
  });
  report.note(
    `Growth and increase: the median of the last quarter of what is after ${warmUp.toFixed(1)} min ` +
      'beside that of the first quarter.',
  );
  for (const { atSeconds, answers } of samples) {
    for (const example of answers.examples) {
      report.note(`${atSeconds.toFixed(0)} s: ${example}`);
    }
  }
  report.addSection({ title: 'Samples', header: [], rows: [] }, samples);
  if (values.plot !== '') {
    writeFileSync(values.plot, soakPlot(samples, `soak: ${values.qps} questions/s`));
  }
}

/** Hours of mixed load while the cluster and the configuration change: resources that grow, and wrong answers. */
export const SOAK: Command<typeof OPTIONS> = {
  name: 'soak',
  summary: 'load, churn and new configurations for any time: what grows',
  options: OPTIONS,
  isStrict: true,
  run,
};
