import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createApiServer } from '@kube-dns/apiserver';
import {
  type Closable,
  type Command,
  type CommandContext,
  ConfigVolume,
  monotonicMs,
  numberOption,
  type OptionValues,
  ScriptedNameServer,
  TemporaryFolder,
} from '@kube-dns/testkit';
import { Random } from '../random.js';
import { BUSY_OPTION, PROGRAM_OPTIONS, quietBar } from '../program-options.js';
import { History } from './history.js';
import { OracleClients, type Told } from './oracle-clients.js';
import { FAULT_KINDS, MAX_FROZEN_MS, OraclePod } from './oracle-pod.js';
import { randomQuestion } from './questions.js';
import { Stalls } from './stalls.js';
import { type Time, Verdict } from './verdict.js';
import { WorldMaker } from './world.js';

const OPTIONS = {
  minutes: numberOption(10, 'minutes of load', { min: 0.1, max: 10_080, isWhole: false }),
  faults: numberOption(20, 'cuts, freezes and restarts, so many of each', { max: 1_000 }),
  qps: numberOption(400, 'questions a second', { min: 1, max: 5_000 }),
  churn: numberOption(100, 'changes a second', { min: 1, max: 1_000 }),
  'record-ttl': numberOption(30, "kubedns's --record-ttl, in seconds", { min: 1 }),
  'max-age': numberOption(100, 'milliseconds that an answer may be old while subscribed', {
    min: 1,
  }),
  seed: numberOption(1, 'another one makes other changes and questions'),
  ...BUSY_OPTION,
  ...PROGRAM_OPTIONS,
};

type Values = OptionValues<typeof OPTIONS>;

const MS = 1_000;
const NEGATIVE_TTL_SECONDS = 5;
const CHURN_TICK_MS = 5;
/** For each question to kubedns itself there are as many to dnsmasq. */
const STRAIGHT_PART = 4;
const PROGRESS_MS = 10_000;

function repeat(act: () => void, everyMs: number): Closable {
  const timer = setInterval(act, everyMs);
  const close = () => {
    clearInterval(timer);
    return Promise.resolve();
  };
  return { close };
}

/** Changes the cluster at its rate until it is closed. */
function churn(history: History, maker: WorldMaker, perSecond: number, apply: Apply) {
  const startMs = monotonicMs();
  const done = { changes: 0 };
  const change = () => {
    const due = ((monotonicMs() - startMs) * perSecond) / MS;
    for (; done.changes < due; done.changes++) {
      const next = maker.next(history.world);
      apply(next);
      history.add(next.world, monotonicMs());
    }
  };
  return Object.assign(done, repeat(change, CHURN_TICK_MS));
}

type Apply = (change: ReturnType<WorldMaker['next']>) => void;

async function startPod(values: Values, { owned }: CommandContext, apiUrl: string) {
  // Reverse names that the cluster does not have: no other server has them.
  const upstream = owned.add(await ScriptedNameServer.start(() => ({ rcode: 'NXDOMAIN' })));
  const folder = owned.add(new TemporaryFolder()).path;
  const volume = new ConfigVolume(join(folder, 'config'));
  await volume.put({ upstreamNameservers: JSON.stringify([`127.0.0.1:${upstream.port}`]) });
  const recordTtlSeconds = values['record-ttl'];
  return OraclePod.start(
    {
      node: values.node,
      nodeFlags: values['node-flags'],
      apiUrl,
      configPath: volume.path,
      kubednsFlags: [`--record-ttl=${recordTtlSeconds}`],
      recordTtlSeconds,
    },
    owned,
  );
}

async function run(values: Values, context: CommandContext): Promise<void> {
  const { report, progress, owned } = context;
  const random = new Random(values.seed);
  const below = (limit: number) => random.below(limit);
  const maker = new WorldMaker(below);
  const history = new History();
  const first = maker.first();
  history.add(first.world, monotonicMs());
  const api = owned.add(await createApiServer({ seed: first.apply }));
  const pod = await startPod(values, context, api.url);
  progress('the pod is ready');
  const stalls = owned.add(new Stalls());
  const verdict = new Verdict(history, stalls, values['max-age']);
  let time: Time = 'subscribed';
  let calmSinceMs = monotonicMs();
  const churned = owned.add(churn(history, maker, values.churn, ({ apply }) => apply(api.objects)));
  const ask = async (port: number, perSecond: number, calm: Time) => {
    const onTold = (told: Told) => {
      const isCalm = told.askedMs >= calmSinceMs && time === 'subscribed';
      if (isCalm) verdict.judge(told, calm);
      else if (calm === 'subscribed') verdict.judge(told, 'disturbed');
    };
    const next = () => randomQuestion(below, history.world);
    const isOneIn = (count: number) => random.isOneIn(count);
    return owned.add(await OracleClients.start({ port, perSecond, next, isOneIn, onTold }));
  };
  const clients = await ask(pod.ports.dns, values.qps, 'subscribed');
  const straight = await ask(pod.ports.kubedns, values.qps / STRAIGHT_PART, 'straight');
  const startMs = monotonicMs();
  const endMs = startMs + values.minutes * 60 * MS;
  let shown = 0;
  const show = () => {
    progress(progressText(verdict, startMs));
    for (; shown < verdict.examples.length; shown++) progress(verdict.examples[shown]!);
  };
  owned.add(repeat(show, PROGRESS_MS));
  const count = values.faults * FAULT_KINDS.length;
  const made = { cut: 0, freeze: 0, restart: 0 };
  for (let i = 0; i < count; i++) {
    await delay(Math.max(MS, startMs + ((i + 0.5) / count) * (endMs - startMs) - monotonicMs()));
    const kind = FAULT_KINDS[i % FAULT_KINDS.length]!;
    time = 'disturbed';
    progress(`${kind} ${made[kind]}`);
    verdict.calm(`during ${kind} ${made[kind]}`, monotonicMs());
    await pod.disturb(kind, made[kind]++);
    time = 'subscribed';
    calmSinceMs = monotonicMs();
    verdict.calm(`after ${kind} ${made[kind] - 1}`, calmSinceMs);
  }
  await delay(Math.max(MS, endMs - monotonicMs()));
  await churned.close();
  await clients.close();
  await straight.close();
  addFindings(values, context, verdict, stalls);
  report.add('changes', churned.changes, '');
  for (const kind of FAULT_KINDS) report.add(`times of ${kind}`, made[kind], '');
}

function progressText({ tallies }: Verdict, startMs: number): string {
  const { subscribed, disturbed, straight } = tallies;
  return (
    `${((monotonicMs() - startMs) / MS).toFixed(0)} s: ${subscribed.answers} answers, ` +
    `${subscribed.wrong + disturbed.wrong} wrong, oldest while subscribed ` +
    `${Math.max(subscribed.oldestPositiveMs, subscribed.oldestNegativeMs).toFixed(0)} ms, ` +
    `of kubedns itself ${Math.max(straight.oldestPositiveMs, straight.oldestNegativeMs).toFixed(0)} ms`
  );
}

function addFindings(
  values: Values,
  { report }: CommandContext,
  { tallies, examples }: Verdict,
  stalls: Stalls,
): void {
  const maxAgeMs = values['max-age'];
  const ttls = { Positive: values['record-ttl'], Negative: NEGATIVE_TTL_SECONDS };
  for (const time of ['subscribed', 'disturbed'] as const) {
    const { answers, old, wrong, failed, oldestSeenMs, ...oldest } = tallies[time];
    report.add(`${time}: answers`, answers, '', { atLeast: 1 });
    report.add(`${time}: that were never right`, wrong, '', 0);
    const noFailures = time === 'subscribed' ? quietBar(values, 0) : undefined;
    report.add(`${time}: failures`, failed, '', noFailures);
    report.add(`${time}: older than their question`, old, '');
    for (const kind of ['Positive', 'Negative'] as const) {
      const ttlMs = Math.max(ttls[kind] * MS, MAX_FROZEN_MS);
      const bar = maxAgeMs + (time === 'subscribed' ? 0 : ttlMs);
      const what = `${time}: oldest ${kind.toLowerCase()} answer`;
      report.add(what, oldest[`oldest${kind}Ms`], 'ms', quietBar(values, bar));
    }
    report.add(`${time}: oldest answer, with stalls of this machine`, oldestSeenMs, 'ms');
  }
  const { straight } = tallies;
  const oldestMs = Math.max(straight.oldestPositiveMs, straight.oldestNegativeMs);
  report.add('kubedns itself: answers', straight.answers, '', { atLeast: 1 });
  report.add('kubedns itself: that were never right', straight.wrong, '', 0);
  report.add('kubedns itself: oldest answer', oldestMs, 'ms');
  report.add('stalls of this machine, in all', stalls.totalMs, 'ms');
  report.add('the longest of them', stalls.longestMs, 'ms');
  for (const example of examples) report.note(example);
}

/** Every answer of a cluster that changes at random, beside the history of its API, while its pod is disturbed. */
export const ORACLE: Command<typeof OPTIONS> = {
  name: 'oracle',
  summary: 'random changes: how old answers are, while dnsmasq is told of changes and while not',
  options: OPTIONS,
  isStrict: true,
  run,
};
