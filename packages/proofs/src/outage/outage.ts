import {
  type Command,
  type CommandContext,
  MeasureError,
  numberOption,
  type OptionValues,
  TemporaryFolder,
  textOption,
  partsOption,
  PROGRAM_OPTIONS,
} from '@kube-dns/testkit';
import { networkSkipReason } from '../fixtures/host-network.js';
import { BUSY_OPTION, quietBar } from '../program-options.js';
import { findOutage, type OutageFindings, type OutagePeers } from './outage-lab.js';
import { fileTrials, killTrials } from './snapshot-trials.js';

const PARTS = ['lab', 'files', 'kills'] as const;

const OPTIONS = {
  only: partsOption(PARTS, 'parts of it'),
  services: numberOption(10_000, 'services of the cluster', { min: 10, max: 50_000 }),
  pods: numberOption(2, 'DNS pods behind the Service', { min: 2, max: 20 }),
  'node-caches': numberOption(2, 'node-caches in front of the pods', { min: 1, max: 20 }),
  minutes: numberOption(0, 'the API server is away for so long, and at least for each order once', {
    max: 1_440,
  }),
  changes: numberOption(100, 'services that change meanwhile, and as many new and deleted ones', {
    min: 1,
    max: 1_000,
  }),
  kills: numberOption(100, 'times that a program is killed while it writes a snapshot', { min: 1 }),
  seed: numberOption(1, 'of the moments of the kills', {}),
  'kube-dns': textOption('', 'PATH', 'a kube-dns of the original, in the same outage'),
  coredns: textOption('', 'PATH', 'a CoreDNS, in the same outage'),
  ...BUSY_OPTION,
  ...PROGRAM_OPTIONS,
};

type Values = OptionValues<typeof OPTIONS>;

const READY_MS = 5_000;
const FRESH_MS = 1_000;

async function run(values: Values, context: CommandContext): Promise<void> {
  if (values.only.includes('lab')) await runLab(values, context);
  if (values.only.includes('files')) await runFiles(values, context);
  if (values.only.includes('kills')) await runKills(values, context);
}

async function runLab(values: Values, { report, owned, progress }: CommandContext): Promise<void> {
  const skipReason = networkSkipReason();
  if (skipReason !== undefined) throw new MeasureError(`the lab ${skipReason}`);
  const { path } = owned.add(new TemporaryFolder());
  const peers: OutagePeers = { 'kube-dns': values['kube-dns'], coredns: values.coredns };
  const found = await findOutage(
    {
      node: values.node,
      nodeFlags: values['node-flags'],
      pods: values.pods,
      nodeCaches: values['node-caches'],
      services: values.services,
      awayMs: values.minutes * 60_000,
      changes: values.changes,
      snapshots: path,
      peers,
    },
    { owned, progress },
  );
  addLab(report, found, values);
}

function addLab(report: CommandContext['report'], found: OutageFindings, values: Values): void {
  const { rounds, back, peers, awayMs } = found;
  const rows = rounds.flatMap(({ order, programs, points }) =>
    points.map(({ name, answers, fresh }) => {
      const readyMs = programs.get(name);
      return [
        order,
        name,
        readyMs === undefined ? '' : String(Math.round(readyMs)),
        `${answers.right} of ${answers.asked}`,
        String(answers.stale),
        `${fresh.text}${fresh.errors.map((code) => `, EDE ${code}`).join('')}`,
      ];
    }),
  );
  const header = ['what was killed', 'asked', 'ready, ms', 'right', 'with EDE 3', 'a new name'];
  report.addSection({ title: 'Without the API server', header, rows }, { rounds: rows });
  const backRows = back.map(({ name, freshMs, answers }) => [
    name,
    Number.isFinite(freshMs) ? String(Math.round(freshMs)) : 'never',
    `${answers.right} of ${answers.asked}`,
    String(answers.stale),
  ]);
  report.addSection(
    { title: 'It is back', header: ['asked', 'fresh, ms', 'right', 'with EDE 3'], rows: backRows },
    { back: backRows },
  );
  const all = rounds.flatMap(({ points }) => points);
  const kubedns = all.filter(({ name }) => name.startsWith('kubedns'));
  const readyMs = rounds.flatMap(({ programs }) => [...programs.values()]);
  report.add('away', awayMs / 1_000, 's');
  report.add('programs that were killed', readyMs.length, '', { atLeast: 1 });
  report.add('ready: longest', Math.max(...readyMs), 'ms', quietBar(values, READY_MS));
  report.add('names of before, not right', notRight(all), '', 0);
  report.add('new names, not SERVFAIL', all.filter(({ fresh }) => fresh.text !== 'SERVFAIL').length, '', 0); // prettier-ignore
  report.add('new names without EDE 14 from kubedns', kubedns.filter(({ fresh }) => !fresh.errors.includes(14)).length, '', 0); // prettier-ignore
  const isFresh = kubedns.reduce((sum, { answers }) => sum + answers.right - answers.stale, 0);
  report.add('answers of kubedns without EDE 3', isFresh, '', 0);
  report.add('pages that do not say it', found.unsaid.length, '', 0);
  report.add('fresh after its return: longest', Math.max(...back.map(({ freshMs }) => freshMs)), 'ms', quietBar(values, FRESH_MS)); // prettier-ignore
  report.add('names after its return, not right', notRight(back), '', 0);
  const stillStale = back.reduce((sum, { answers }) => sum + answers.stale, 0);
  report.add('answers with EDE 3 after its return', stillStale, '', 0);
  for (const { name, answers } of [...all, ...back]) {
    for (const wrong of answers.wrong) report.note(`${name}: ${wrong}`);
  }
  for (const text of found.unsaid) report.note(text);
  for (const { name, away, freshMs } of peers) {
    report.note(
      `${name}, killed and started without the API server: ${away}; right ${Math.round(freshMs)} ms after its return`,
    );
  }
}

function notRight(
  points: readonly { readonly answers: { readonly asked: number; readonly right: number } }[],
): number {
  return points.reduce((sum, { answers }) => sum + answers.asked - answers.right, 0);
}

async function runFiles(
  values: Values,
  { report, owned, progress }: CommandContext,
): Promise<void> {
  const trials = await fileTrials({ node: values.node, nodeFlags: values['node-flags'] }, owned);
  progress('all files were tried');
  const rows = trials.map(({ file, wrong, lines }) => [file, wrong || 'as promised', lines[0] ?? '']); // prettier-ignore
  report.addSection(
    { title: 'Files', header: ['the file', 'kubedns', 'what it logs'], rows },
    { files: rows },
  );
  report.add('files', trials.length, '', { atLeast: 10 });
  report.add('files that kubedns did not stand', trials.filter(({ wrong }) => wrong !== '').length, '', 0); // prettier-ignore
}

async function runKills(
  values: Values,
  { report, owned, progress }: CommandContext,
): Promise<void> {
  const { kills, seed } = values;
  const found = await killTrials({ kills, seed, folder: owned.add(new TemporaryFolder()).path });
  progress(`${kills} kills`);
  report.add('kills while a snapshot was written', kills, '');
  report.add('of them, with the new file not in its place', found.before, '', { atLeast: 1 });
  report.add('files that were not whole, or none of the last two', found.bad.length, '', 0);
  report.add('files left beside it a minute later', found.leftOver, '', 0);
  for (const text of found.bad) report.note(text);
}

/** An hour without the API server, and files that are no good. */
export const OUTAGE: Command<typeof OPTIONS> = {
  name: 'outage',
  summary:
    'the API server is away, and all programs are killed and started: what is answered from snapshots, and from bad ones',
  options: OPTIONS,
  format: 'markdown',
  isStrict: true,
  run,
};
