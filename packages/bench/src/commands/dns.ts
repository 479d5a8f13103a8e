import {
  type Command,
  partsOption,
  numberOption,
  numbersOption,
  type OptionValues,
  switchOption,
  Owned,
  type CommandContext,
} from '@kube-dns/testkit';
import { Precedence } from '../control-group.js';
import { type Contest, type Score, ScoreLog, scoreSection, Series } from '../load/scores.js';
import { type LoadPlan, runContest } from '../load/run-contest.js';
import { DNSMASQ, type Programs, ServerTestbed } from '../load/testbed.js';
import { MEMORY } from '../workloads/memory.js';
import { QUOTA } from '../workloads/quota.js';
import { WORKLOADS } from '../workloads/workloads.js';
import type { Part, Workload } from '../workloads/workload.js';
import {
  describeTools,
  LOAD_OPTIONS,
  programOption,
  programsOf,
  WARM_UP_OPTIONS,
} from './command.js';

/** What is measured beside the workloads, after them. */
export const PARTS: readonly Part[] = [QUOTA, MEMORY];
const NAMES = [...WORKLOADS, ...PARTS].map(({ name }) => name);

/** Below it the load was another than it should have been. */
const SENT_PERCENT = 99;

const seconds = { max: 600, isWhole: false };

const OPTIONS = {
  only: partsOption(NAMES, 'workloads'),
  runs: numberOption(5, 'runs, in each of which every server has its turn', { min: 1, max: 100 }),
  seconds: numberOption(4, 'seconds of each run, as fast as it answers', { min: 0.1, ...seconds }),
  'latency-seconds': numberOption(2, 'seconds of each run at a fixed rate; 0 is never', seconds),
  'single-seconds': numberOption(1, 'seconds of each run with one query at a time', {
    min: 0.1,
    ...seconds,
  }),
  ...WARM_UP_OPTIONS,
  'idle-seconds': numberOption(25, 'seconds until memory is read once more; 0 is never', seconds),
  rate: numberOption(20_000, 'queries each second at the fixed rate', { min: 1 }),
  quotas: numbersOption([25, 50, 100], 'quotas of CPU in thousandths, for the workload quota', {
    min: 1,
    max: 9_999,
  }),
  names: numberOption(2_000, 'different names', { min: 10, max: 10_000 }),
  polite: switchOption('takes the cores as any other program of the machine, and not before them'),
  'kube-dns': programOption('a kube-dns of the original to compare with'),
  coredns: programOption('a coredns to compare with'),
  'node-cache': programOption('a node-cache of the original to compare with'),
  ...LOAD_OPTIONS,
};

type Values = OptionValues<typeof OPTIONS>;

function addToReport(
  { name, judge }: Workload,
  { trials, notes = [] }: Contest,
  log: ScoreLog,
  { report }: CommandContext,
): void {
  for (const trial of trials) {
    const title = trials.length === 1 ? name : `${name}, ${trial.name}`;
    const own = log.scores.filter((score) => score.trial === trial.name);
    report.addSection(scoreSection(title, trial.name, log, DNSMASQ), own);
  }
  for (const text of notes) report.note(`${name}: ${text}`);
  for (const { name: figure, value, unit, bar, spread } of judge(log)) {
    report.add(`${name}: ${figure}`, value, unit, bar, spread);
  }
}

/** Says where the machine did not send what the open loop should have sent. */
function noteUnsent(
  { name }: Workload,
  scores: readonly Score[],
  { perSecond }: LoadPlan,
  { report }: CommandContext,
): void {
  const unsent = scores.filter(({ metrics }) => metrics.sentInTimePercent < SENT_PERCENT);
  for (const { subject, trial, run, metrics } of unsent) {
    const percent = metrics.sentInTimePercent.toFixed(1);
    report.note(
      `${name}, ${trial}, ${subject}, run ${run}: the machine could not send ${perSecond} questions a second, only ${percent} % of them in time.`,
    );
  }
}

function planOf(values: Values, cores: LoadPlan['cores']): LoadPlan {
  return {
    runs: values.runs,
    seconds: values.seconds,
    latencySeconds: values['latency-seconds'],
    singleSeconds: values['single-seconds'],
    warmUp: { seconds: values['warm-up'], answers: values['warm-up-answers'] },
    perSecond: values.rate,
    cores,
  };
}

function peersOf(values: Values): Programs['peers'] {
  const { 'kube-dns': kubeDns, coredns, 'node-cache': nodeCache } = values;
  return {
    ...(kubeDns !== undefined && { 'kube-dns': kubeDns }),
    ...(coredns !== undefined && { coredns }),
    ...(nodeCache !== undefined && { 'node-cache': nodeCache }),
  };
}

/** Other programs of the machine are not in the figures then, as far as they can be kept out. */
export function takePrecedence({ owned, report }: CommandContext): void {
  const precedence = Precedence.take();
  if (typeof precedence !== 'string') owned.add(precedence);
  else
    report.note(`Other programs of the machine have the cores as much as the bench: ${precedence}`);
}

async function run(values: Values, context: CommandContext): Promise<void> {
  const { report, owned, progress } = context;
  if (!values.polite) takePrecedence(context);
  const programs = programsOf(values, peersOf(values));
  const cores = await describeTools(programs, report);
  const plan = planOf(values, cores);
  const chosen = WORKLOADS.filter(({ name }) => values.only.includes(name));
  for (const workload of chosen) {
    const skipReason = workload.skipReason?.();
    if (skipReason !== undefined) {
      report.note(`${workload.name} was left out: it ${skipReason}`);
      continue;
    }
    progress(`${workload.name}: ${workload.summary}`);
    const own = owned.add(new Owned());
    const testbed = new ServerTestbed(programs, own, cores);
    const prepared = await workload.prepare(testbed, values);
    const contest = { ...prepared, subjects: [...prepared.subjects, await testbed.echo()] };
    const tell = (text: string) => progress(`${workload.name}, ${text}`);
    const note = (text: string) => report.note(`${workload.name}, ${text}`);
    const scores = await runContest(contest, plan, { owned: own, progress: tell, note });
    await own.close();
    addToReport(workload, contest, new ScoreLog(scores), context);
    noteUnsent(workload, scores, plan, context);
  }
  for (const { name, summary, measure } of PARTS.filter((each) =>
    values.only.includes(each.name),
  )) {
    progress(`${name}: ${summary}`);
    const own = owned.add(new Owned());
    const series = new Series();
    const tell = (text: string) => progress(`${name}, ${text}`);
    const note = (text: string) => report.note(`${name}: ${text}`);
    const { runs, seconds: long, names, quotas, 'idle-seconds': idleSeconds } = values;
    const how = { runs, seconds: long, names, quotas, warmUp: plan.warmUp, idleSeconds };
    await measure({ programs, cores, owned: own, progress: tell, note, series, ...how });
    await own.close();
    series.addTo(report, name);
  }
  report.note(`Each figure is the median (minimum…maximum) of ${plan.runs} runs.`);
}

/** Queries per second, CPU per query and latency, beside the peers, workload by workload. */
export const DNS: Command<typeof OPTIONS> = {
  name: 'dns',
  summary: 'both containers under load, beside their peers, workload by workload',
  options: OPTIONS,
  format: 'markdown',
  run,
};
