import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Command,
  type CommandContext,
  MeasureError,
  numberOption,
  type OptionValues,
  Owned,
  partsOption,
  switchOption,
  textOption,
  wordsOption,
} from '@kube-dns/testkit';
import { ScoreLog } from '../load/scores.js';
import {
  installedProgram,
  PEERS,
  type PeerWord,
  shownConfiguration,
} from '../strongest/configurations.js';
import { versionOf } from '../strongest/contestants.js';
import { measureAll, type MeasurePlan } from '../strongest/measure.js';
import { strongestPage, type StrongestReport, strongestSection } from '../strongest/page.js';
import {
  GROUPS,
  SCENARIOS,
  secondsFor,
  SERVER_WORDS,
  type ServerWord,
} from '../strongest/scenarios.js';
import { describeTools, LOAD_OPTIONS, programOption, programsOf } from './command.js';
import { takePrecedence } from './dns.js';

const BY_PATH = ['coredns', 'kube-dns', 'node-cache'] as const;
const NAMES = SCENARIOS.map(({ name }) => name);
const RESULTS = fileURLToPath(new URL('../../results', import.meta.url));

const seconds = { max: 600, isWhole: false };

const OPTIONS = {
  only: partsOption(NAMES, 'scenarios'),
  servers: partsOption(SERVER_WORDS, 'servers'),
  runs: numberOption(5, 'runs, in each of which every server has its turn', { min: 1, max: 100 }),
  seconds: numberOption(3, 'seconds of each run, as fast as it answers', { min: 0.1, ...seconds }),
  'part-seconds': numberOption(2, 'seconds at 50 % of that, and at 100 %; 0 is never', seconds),
  'rate-seconds': numberOption(5, 'seconds at each rate of latency', { min: 0.5, ...seconds }),
  'warm-up': numberOption(2, 'seconds before the first run, at least; 0 is none', seconds),
  'warm-up-answers': numberOption(100_000, 'answers before it, at least'),
  names: numberOption(2_000, 'different names', { min: 10, max: 10_000 }),
  quick: switchOption(
    'ten minutes: 3 short runs, and unless --only is given, fewer scenarios; in place of the other sizes',
  ),
  polite: switchOption('takes the cores as any other program of the machine, and not before them'),
  from: wordsOption([], 'files that --json of this command has written; nothing is measured then'),
  out: textOption(RESULTS, 'FOLDER', 'where the page and its pictures are written'),
  coredns: programOption('a coredns to compare with'),
  'kube-dns': programOption('a kube-dns of the original to compare with'),
  'node-cache': programOption('a node-cache of the original to compare with'),
  ...LOAD_OPTIONS,
};

type Values = OptionValues<typeof OPTIONS>;

const QUICK = {
  runs: 3,
  seconds: 1,
  partSeconds: 0.5,
  rateSeconds: 2,
  warmUpSeconds: 1,
  warmUpAnswers: 50_000,
};

/** How often and how long, and the scenarios. */
export function sizesOf(
  values: Pick<
    Values,
    | 'runs'
    | 'seconds'
    | 'part-seconds'
    | 'rate-seconds'
    | 'warm-up'
    | 'warm-up-answers'
    | 'quick'
    | 'only'
  >,
): { readonly plan: Omit<MeasurePlan, 'cores'>; readonly only: readonly string[] } {
  const { runs, seconds: long, quick, only } = values;
  const given = {
    runs,
    seconds: long,
    partSeconds: values['part-seconds'],
    rateSeconds: values['rate-seconds'],
    warmUpSeconds: values['warm-up'],
    warmUpAnswers: values['warm-up-answers'],
  };
  const { warmUpSeconds, warmUpAnswers, ...sizes } = quick ? QUICK : given;
  const plan = { ...sizes, warmUp: { seconds: warmUpSeconds, answers: warmUpAnswers } };
  const isAll = only.length === NAMES.length;
  const few = SCENARIOS.filter(({ isQuick = false }) => isQuick).map(({ name }) => name);
  return { plan, only: quick && isAll ? few : only };
}

function isPeer(word: ServerWord): word is PeerWord {
  return word in PEERS;
}

/** The words of servers that have a configuration of their own here. */
function peersOf(servers: readonly ServerWord[]): readonly PeerWord[] {
  return servers.filter(isPeer);
}

/** Those that are installed, or have a path. */
function serversHere(values: Values): readonly ServerWord[] {
  const byPath: readonly string[] = BY_PATH.filter((word) => values[word] === undefined);
  return values.servers.filter((word) =>
    isPeer(word) ? installedProgram(PEERS[word].program) !== undefined : !byPath.includes(word),
  );
}

/** Which servers are here, with their versions, and what the others need. */
async function describeServers(
  values: Values,
  { report }: Pick<CommandContext, 'report'>,
): Promise<void> {
  const { servers } = values;
  const words = peersOf(servers);
  const all = serversHere(values);
  const here = words.filter((word) => all.includes(word));
  const versions = await Promise.all(here.map(async (word) => `${word} ${await versionOf(word)}`));
  if (here.length > 0) report.note(`${versions.join(', ')}.`);
  const missing = servers
    .filter((word) => !all.includes(word))
    .map((word) => `${word} (${isPeer(word) ? PEERS[word].package : `--${word}=PATH`})`);
  if (missing.length > 0) report.note(`Not here: ${missing.join(', ')}.`);
}

const OTHER_ADVICE: Readonly<Partial<Record<ServerWord, string>>> = {
  ours: 'dnsmasq: `--cache-size=10000 --dns-forward-max=1500`; kubedns and node-cache: nothing; Node with the flags of the images',
  dnsmasq: 'as ours; a zone in a hosts file, `--local=/cluster.local/`',
  coredns:
    '`cache 3600` for hits; a zone by `kubernetes` with `pods insecure`, `ttl 30` and `cache 30`, as kubeadm has it; GOMAXPROCS=1',
  'kube-dns': 'its own, GOMAXPROCS=1',
  'node-cache': 'as CoreDNS, `-setupinterface=false -setupiptables=false`',
};

/** Server, its settings in words, and its file. */
function configurationsOf(servers: readonly ServerWord[]): [string, string, string][] {
  return servers.map((word) => {
    const [peer] = peersOf([word]);
    if (peer === undefined) return [word, OTHER_ADVICE[word] ?? '', ''];
    return [word, PEERS[peer].advice, shownConfiguration(peer)];
  });
}

async function measure(values: Values, context: CommandContext): Promise<void> {
  const { report, owned, progress } = context;
  if (!values.polite) takePrecedence(context);
  const { servers, names, coredns, 'kube-dns': kubeDns, 'node-cache': nodeCache } = values;
  const programs = programsOf(values, {
    ...(coredns !== undefined && { coredns }),
    ...(kubeDns !== undefined && { 'kube-dns': kubeDns }),
    ...(nodeCache !== undefined && { 'node-cache': nodeCache }),
  });
  const cores = await describeTools(programs, report);
  await describeServers(values, context);
  const { plan, only } = sizesOf(values);
  const note = (text: string) => report.note(text);
  const seconds = secondsFor(only, serversHere(values), { ...plan, cores });
  progress(
    `about ${Math.ceil(seconds / 60)} minutes on a machine that is not busy: ${only.join(', ')}`,
  );
  for (const { scenarios, skipReason, prepare } of GROUPS) {
    const asked = scenarios.filter(({ name }) => only.includes(name)).map(({ name }) => name);
    if (asked.length === 0) continue;
    const reason = skipReason?.();
    if (reason !== undefined) {
      note(`${asked.join(', ')}: left out, ${reason}`);
      continue;
    }
    progress(`starting the servers of ${asked.join(', ')}`);
    const own = owned.add(new Owned());
    const group = await prepare({ programs, cores, owned: own, servers, names });
    for (const text of group.notes) note(text);
    const trials = group.trials.filter(({ name }) => asked.includes(name));
    const tools = { owned: own, progress, note };
    const scores = await measureAll(group.contestants, trials, { ...plan, cores }, tools);
    await own.close();
    const log = new ScoreLog(scores);
    for (const title of new Set(scores.map(({ trial }) => trial))) {
      const ofTitle = scores.filter(({ trial }) => trial === title);
      report.addSection(strongestSection(log, title), ofTitle);
    }
  }
  note(
    `Each figure is the median (minimum…maximum) of ${plan.runs} runs in turn; × ours: of the ratios of each run.`,
  );
}

/** Reads a file that `--json` of this command has written; throws a MeasureError for another. */
function readReport(path: string): StrongestReport {
  let report: StrongestReport;
  try {
    report = JSON.parse(readFileSync(path, 'utf8')) as StrongestReport;
  } catch (cause) {
    throw new MeasureError(`${path} cannot be read as JSON`, { cause });
  }
  if (report.command === STRONGEST.name) return report;
  throw new MeasureError(`${path} was not written by --json of ${STRONGEST.name}`);
}

async function run(values: Values, context: CommandContext): Promise<void> {
  const { from, out, servers } = values;
  const { report, progress } = context;
  const earlier = from.map(readReport);
  if (from.length === 0) await measure(values, context);
  const made = JSON.parse(JSON.stringify(report)) as StrongestReport;
  const reports = from.length === 0 ? [made] : earlier;
  mkdirSync(out, { recursive: true });
  for (const [name, text] of strongestPage(reports, configurationsOf(servers))) {
    writeFileSync(join(out, name), text);
    progress(`written: ${join(out, name)}`);
  }
}

/** Ours beside every server that is here: CPU per answer, latency and loss, and one page of them. */
export const STRONGEST: Command<typeof OPTIONS> = {
  name: 'strongest',
  summary: 'ours beside every DNS server of this machine, and one page of it',
  options: OPTIONS,
  format: 'markdown',
  run,
};
