import { type Machine, type Range, Report, type Section } from '@kube-dns/testkit';
import {
  barChart,
  type BarRow,
  type Plot,
  plot,
  shortMs,
  sideOf,
  spreadChart,
} from '../load/charts.js';
import { formatRange, ScoreLog } from '../load/scores.js';
import { CORES, isSameForAll, loadTitle, type PARTS } from './measure.js';

export const STRONGEST_PAGE = 'strongest.md';
const TITLE = 'Beside the strongest';
const INTRO = [
  'Made by `npm run bench -- strongest`. What is asked of whom, and how to read the tables:',
  '[packages/bench](../README.md#beside-the-strongest-strongest).',
].join('\n');

/** What ours is compared with in a scenario: the first server of ours there. */
export function oursIn(log: ScoreLog, trial: string): string | undefined {
  return log.subjectsOf(trial).find((subject) => sideOf(subject) === 'ours');
}

const RATIO_DIGITS = 2;

/** A figure of a server over that of ours, run by run; `-` where ours is not there, or is this one. */
function timesOurs(
  log: ScoreLog,
  subject: string,
  trial: string,
  metric: Parameters<ScoreLog['ratio']>[0] = 'cpuUs',
): string {
  const ours = oursIn(log, trial);
  if (ours === undefined || ours === subject) return '-';
  return formatRange(log.ratio(metric, subject, ours, trial), RATIO_DIGITS);
}

/** The rest of 100 %. */
function restOf({ min, median, max }: Range): Range {
  return { min: 100 - max, median: 100 - median, max: 100 - min };
}

/** The table of a load: as fast as servers answer, or at a part of that. */
export function strongestSection(log: ScoreLog, title: string): Section {
  const cell = (metric: Parameters<ScoreLog['range']>[0], digits: number) => (subject: string) =>
    formatRange(log.range(metric, subject, title), digits);
  const lost = (metric: 'answeredPercent' | 'openAnsweredPercent') => (subject: string) =>
    formatRange(restOf(log.range(metric, subject, title)), 2);
  const shared = [
    ['server', (subject: string) => subject],
    ['answers/s', cell('queriesPerSecond', 0)],
    ['CPU µs', cell('cpuUs', 2)],
    ['× ours', (subject: string) => timesOurs(log, subject, title)],
  ] as const;
  const times = [
    ['p50 ms', cell('p50Ms', 3)],
    ['p99 ms', cell('p99Ms', 3)],
    ['p99.9 ms', cell('p999Ms', 3)],
  ] as const;
  const hasTimes = log.scores.some(({ trial, metrics }) => trial === title && metrics.p50Ms > 0);
  const full = [
    ['user µs', cell('userUs', 2)],
    ['system µs', cell('systemUs', 2)],
    ...(title.startsWith(CORES) ? [['busiest thread %', cell('busiestPercent', 0)] as const] : []),
    ['lost %', lost('answeredPercent')],
    ['wrong', cell('wrong', 0)],
    ...(hasTimes ? times : []),
  ] as const;
  const beside = [
    ['p50 × ours', (subject: string) => timesOurs(log, subject, title, 'p50Ms')],
    ['p99 × ours', (subject: string) => timesOurs(log, subject, title, 'p99Ms')],
  ] as const;
  const part = [
    ...times,
    ...(isSameForAll(title) ? beside : []),
    ['lost %', lost('openAnsweredPercent')],
    ['wrong', cell('wrong', 0)],
    ['load itself late, p99.9 ms', cell('ownP999Ms', 3)],
  ] as const;
  const columns = [...shared, ...(isFullTitle(title) ? full : part)];
  const rows = log.subjectsOf(title).map((subject) => columns.map(([, of]) => of(subject)));
  return { title, header: columns.map(([head]) => head), rows };
}

/** The scenario of a title. */
function nameOf(title: string): string {
  return title.split(',')[0]!;
}

/** What the JSON of a report of `strongest` has for its page. */
export interface StrongestReport {
  readonly command: string;
  readonly machine: Machine;
  readonly results?: Readonly<Record<string, ConstructorParameters<typeof ScoreLog>[0]>>;
  readonly notes: readonly string[];
}

/** Reports of parts that are shown as one; of the same table that of the last one. */
function logsOf(reports: readonly StrongestReport[]): ReadonlyMap<string, ScoreLog> {
  const logs = new Map<string, ScoreLog>();
  for (const { results = {} } of reports) {
    for (const [title, scores] of Object.entries(results)) {
      logs.set(title, new ScoreLog(scores.map(withoutNulls)));
    }
  }
  return logs;
}

type KeptScore = ScoreLog['scores'][number];

/** JSON has null where a figure was NaN. */
function withoutNulls(score: KeptScore): KeptScore {
  const metrics = Object.fromEntries(
    Object.entries(score.metrics).map(([name, value]: [string, number | null]) => [
      name,
      value ?? Number.NaN,
    ]),
  );
  return { ...score, metrics: metrics as unknown as KeptScore['metrics'] };
}

/** The files of the page by name: Markdown with tables, and its pictures. */
export function strongestPage(
  reports: readonly StrongestReport[],
  configurations: readonly (readonly [string, string, string])[],
): ReadonlyMap<string, string> {
  const logs = logsOf(reports);
  const [first, ...others] = reports;
  const report = new Report(TITLE, first?.machine ?? ({} as Machine), {});
  for (const [title, log] of logs) {
    report.addSection(strongestSection(log, title), log.scores);
  }
  const settings = configurations.map(([server, text]) => [server, text]);
  report.addSection({ title: 'Settings', header: ['server', ''], rows: settings }, []);
  for (const note of new Set(reports.flatMap(({ notes }) => notes))) report.note(note);
  for (const { machine, results = {} } of others) {
    const { date, cpu, commit, loadBefore } = machine;
    const what = Object.keys(results).join('; ');
    report.note(`${what}: ${date}, ${cpu}, commit ${commit}, a load of ${loadBefore} before.`);
  }
  const plots = plotsOf(logs);
  const pictures = plots.map(({ title, file }) => `![${title}](${file})\n`).join('\n');
  const [head = '', ...sections] = report.toMarkdown().split('\n## ');
  const [heading = '', ...machine] = head.split('\n');
  const page = [
    `${heading}\n\n${INTRO}\n${machine.join('\n')}`,
    `Plots\n\n${pictures}`,
    ...sections,
    `Configurations\n\n${configurationText(configurations)}`,
  ].join('\n## ');
  return new Map([[STRONGEST_PAGE, page], ...plots.map(({ file, svg }) => [file, svg] as const)]);
}

/** What the files of servers have. */
function configurationText(configurations: readonly (readonly [string, string, string])[]): string {
  const files = configurations.filter(([, , file]) => file !== '');
  return files.map(([server, , file]) => `### ${server}\n\n\`\`\`text\n${file}\`\`\`\n`).join('\n');
}

type Logs = ReadonlyMap<string, ScoreLog>;

function plotsOf(logs: Logs): readonly Plot[] {
  return [...cpuPlot(logs), ...ratePlot(logs), ...partPlot(logs, 50), ...partPlot(logs, 100)];
}

function isFullTitle(title: string): boolean {
  return title === nameOf(title);
}

function cpuPlot(logs: Logs): readonly Plot[] {
  const groups = [...logs]
    .filter(([title]) => isFullTitle(title))
    .map(([title, log]) => ({
      title,
      rows: log.subjectsOf(title).map((label): BarRow => {
        const parts = [log.median('userUs', label, title), log.median('systemUs', label, title)];
        const cpu = log.median('cpuUs', label, title);
        const ours = oursIn(log, title);
        const ratio = ours === undefined ? NaN : log.ratio('cpuUs', label, ours, title).median;
        const text = `${cpu.toFixed(1)}${isNaN(ratio) ? '' : `, ${ratio.toFixed(2)} × ours`}`;
        return { label, side: sideOf(label), parts, text };
      }),
    }));
  const title = 'CPU time per answer, as fast as each server answers, µs';
  const note =
    'dark: user; lighter: system; of all processes of the server; each scenario on a scale of its own';
  return plot(
    'strongest-cpu.svg',
    title,
    () => barChart({ title, note, groups, isScaledByGroup: true }),
    groups,
  );
}

function ratePlot(logs: Logs): readonly Plot[] {
  const own = [...logs].filter(([title]) => isSameForAll(title));
  const title = 'Time to an answer at the same rate for all servers, ms: p50, p99, p99.9';
  return tailPlot('strongest-latency.svg', title, own, (each) => each);
}

function partPlot(logs: Logs, percent: (typeof PARTS)[number]): readonly Plot[] {
  const own = [...logs].filter(([title]) => title === loadTitle(nameOf(title), percent));
  const title = `Time to an answer at ${percent} % of what each server answers, ms: p50, p99, p99.9`;
  return tailPlot(`strongest-tail-${percent}.svg`, title, own, nameOf);
}

function tailPlot(
  file: string,
  title: string,
  logs: readonly (readonly [string, ScoreLog])[],
  nameIn: (load: string) => string,
): readonly Plot[] {
  const groups = logs
    .map(([load, log]) => ({
      title: nameIn(load),
      rows: log.subjectsOf(load).flatMap((label) => {
        const values = (['p50Ms', 'p99Ms', 'p999Ms'] as const).map((metric) =>
          log.median(metric, label, load),
        );
        const isKnown = values.every((value) => value > 0);
        return isKnown ? [{ label, side: sideOf(label), values }] : [];
      }),
    }))
    .filter(({ rows }) => rows.length > 0);
  const note = 'an unanswered question counts as a second; a line for each power of ten';
  const textOf = (values: readonly number[]) => values.map(shortMs).join(' / ');
  return plot(file, title, () => spreadChart({ title, note, groups }, textOf), groups);
}
