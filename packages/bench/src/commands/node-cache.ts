import {
  builtProgram,
  type Command,
  type CommandContext,
  findRealNodeCache,
  numberOption,
  type OptionValues,
  Owned,
  switchOption,
} from '@kube-dns/testkit';
import type { Contest } from '../load/contest.js';
import { runContest } from '../load/run-contest.js';
import { ScoreLog } from '../load/score-log.js';
import { scoreSection } from '../load/score-table.js';
import { Series } from '../load/series.js';
import {
  type NodeCachePrograms,
  NodeCacheTestbed,
  ORIGINAL,
  OUR_NODE_CACHE,
} from '../node-cache/node-cache-testbed.js';
import {
  measureEdits,
  measureLimited,
  measureMemory,
  namesIn,
  type PartContext,
} from '../node-cache/parts.js';
import { startEcho } from '../servers/start-echo.js';
import { bundleOption } from './command.js';
import { LOAD_OPTIONS, planTools, programOption, WARM_UP_OPTIONS } from './load-options.js';

const { node, json, strict, 'node-flags': nodeFlags } = LOAD_OPTIONS;

const OPTIONS = {
  runs: numberOption(5, 'runs, in each of which both have their turn', { min: 1, max: 100 }),
  seconds: numberOption(4, 'seconds of each run', { min: 0.1, max: 600, isWhole: false }),
  ...WARM_UP_OPTIONS,
  names: numberOption(500, 'names that are in the cache', { min: 10, max: 9_000 }),
  misses: numberOption(200_000, 'names of which each is asked for again when it is forgotten', {
    min: 100,
    max: 1_000_000,
  }),
  cached: numberOption(10_000, 'answers in the cache of each of four blocks', {
    min: 10,
    max: 10_000,
  }),
  edits: numberOption(4, 'edits of the template', { max: 100 }),
  'node-cache': bundleOption(),
  original: programOption('the original to compare with, what NODE_CACHE names unless given'),
  alone: switchOption('without the original'),
  node,
  'node-flags': nodeFlags,
  json,
  strict,
};

type Values = OptionValues<typeof OPTIONS>;

/** The loads, each with the least that ours answers per CPU second, as a multiple of the original. */
const LOADS = [
  { name: 'hits', zone: '.', isHit: true, atLeast: 4 },
  { name: 'misses over UDP', zone: '.', isHit: false, atLeast: 2 },
  { name: 'misses over TCP', zone: 'cluster.local', isHit: false, atLeast: 2 },
] as const;

const PARTS = [
  { title: 'Memory', measure: measureMemory },
  { title: 'Edits of the template', measure: measureEdits },
  { title: 'With a limit of CPU', measure: measureLimited },
] as const;

function programsOf(values: Values): NodeCachePrograms {
  const bundle = values['node-cache'];
  return {
    node: values.node,
    nodeFlags: values['node-flags'],
    nodeCache: bundle === '' ? builtProgram('node-cache') : bundle,
    original: values.alone ? undefined : (values.original ?? findRealNodeCache()),
  };
}

async function measureLoads(
  { names, misses, ...values }: Values,
  { programs, cores }: Pick<PartContext, 'programs' | 'cores'>,
  { report, owned, progress }: CommandContext,
): Promise<void> {
  const own = owned.add(new Owned());
  const testbed = await NodeCacheTestbed.create(programs, own, cores);
  const contest: Contest = {
    subjects: [...(await testbed.subjects()), await startEcho(own, programs.nodeFlags, cores)],
    trials: LOADS.map(({ name, zone, isHit }) => ({
      name,
      // The names of hits are no part of those that are forgotten.
      questions: isHit ? namesIn('hits.example', names) : namesIn(zone, misses),
      rcodes: ['NOERROR'],
    })),
  };
  const plan = {
    runs: values.runs,
    seconds: values.seconds,
    latencySeconds: 0,
    singleSeconds: 0,
    warmUp: { seconds: values['warm-up'], answers: values['warm-up-answers'] },
    perSecond: 0,
    cores,
  };
  const note = (text: string) => report.note(text);
  const log = new ScoreLog(await runContest(contest, plan, { owned: own, progress, note }));
  await own.close();
  for (const { name, atLeast } of LOADS) {
    const scores = log.scores.filter(({ trial }) => trial === name);
    report.addSection(scoreSection(name, name, log, ORIGINAL), scores);
    if (!log.has(ORIGINAL)) continue;
    const { min, median, max } = log.ratio('cpuUs', ORIGINAL, OUR_NODE_CACHE, name);
    report.add(`${name}: queries per CPU second, ours / original`, median, '×', { atLeast });
    report.note(`${name}: ${min.toFixed(2)}…${max.toFixed(2)} × per CPU second.`);
  }
}

async function run(values: Values, context: CommandContext): Promise<void> {
  const { report, owned, progress } = context;
  const programs = programsOf(values);
  const { original } = programs;
  const cores = await planTools(original === undefined ? [] : [`original: ${original}`], report);
  if (original === undefined) report.note('Without the original: nothing is compared with it.');
  await measureLoads(values, { programs, cores }, context);
  const note = (text: string) => report.note(text);
  for (const { title, measure } of PARTS) {
    const series = new Series();
    await measure({ ...values, programs, cores, owned, progress, note, series });
    series.addTo(report, title);
  }
}

/** Our node-cache, and the original beside it. */
export const NODE_CACHE: Command<typeof OPTIONS> = {
  name: 'node-cache',
  summary: 'our node-cache: hits, misses, memory, edits, a limit of CPU; beside the original',
  options: OPTIONS,
  format: 'markdown',
  run,
};
