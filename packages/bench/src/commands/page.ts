import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Bar,
  type Command,
  type CommandContext,
  type Machine,
  MeasureError,
  median,
  type OptionValues,
  rangeOf,
  Report,
  textOption,
  wordsOption,
} from '@kube-dns/testkit';
import {
  formatRange,
  type Metrics,
  NO_METRICS,
  type Score,
  ScoreLog,
  scoreSection,
  type SeriesResult,
} from '../load/scores.js';
import {
  barChart,
  type BarRow,
  type Group,
  type Plot,
  plot,
  shortMs,
  sideOf,
  spreadChart,
} from '../load/charts.js';
import { DNSMASQ } from '../load/testbed.js';
import { DNS } from './dns.js';

/** A figure as the JSON of a report has it; null: it could not be measured. */
interface EarlierFigure {
  readonly name: string;
  readonly value: number | null;
  readonly unit: string;
  readonly bar?: Bar;
  readonly spread?: { readonly min: number | null; readonly max: number | null };
}

/** The commands whose reports can be on a page. */
const KEPT_COMMANDS = ['dns', 'dnsmasq-load', 'kubedns-scale'];

/** What the JSON of their reports has. */
export interface EarlierReport {
  readonly command: string;
  readonly machine: Machine;
  readonly options: Readonly<Record<string, unknown>>;
  /** By the title of its table: the scores of a trial, or the figures of a part. */
  readonly results?: Readonly<
    Record<string, readonly Score[] | Readonly<Record<string, SeriesResult>>>
  >;
  readonly figures: readonly EarlierFigure[];
  readonly notes: readonly string[];
}

/** Reads a file that `--json` of one of these commands has written; throws a MeasureError for another. */
function readEarlier(path: string): EarlierReport {
  let report: EarlierReport;
  try {
    report = JSON.parse(readFileSync(path, 'utf8')) as EarlierReport;
  } catch (cause) {
    throw new MeasureError(`${path} cannot be read as JSON`, { cause });
  }
  if (KEPT_COMMANDS.includes(report.command)) return report;
  throw new MeasureError(`${path} was not written by --json of ${KEPT_COMMANDS.join(', ')}`);
}

/** The results of several reports; of the same table that of the last report. */
export class EarlierResults {
  readonly reports: readonly EarlierReport[];
  readonly logs = new Map<string, ScoreLog>();
  readonly parts = new Map<string, Readonly<Record<string, SeriesResult>>>();
  readonly figures = new Map<string, EarlierFigure>();

  constructor(reports: readonly EarlierReport[]) {
    this.reports = reports;
    for (const { command, results = {}, figures } of reports) {
      for (const [title, result] of Object.entries(results)) this.#add(title, result);
      const prefix = command === 'dns' ? '' : `${command}: `;
      for (const figure of figures.filter(({ bar }) => bar !== undefined)) {
        const name = `${prefix}${figure.name}`;
        this.figures.set(name, { ...figure, name });
      }
    }
  }

  #add(title: string, result: NonNullable<EarlierReport['results']>[string]): void {
    if (isScores(result)) this.logs.set(title, new ScoreLog(result.map(withoutNulls)));
    else this.parts.set(title, result);
  }
}

function isScores(
  result: NonNullable<EarlierReport['results']>[string],
): result is readonly Score[] {
  return Array.isArray(result);
}

/** JSON has null where a figure was NaN. */
function withoutNulls(score: Score): Score {
  const known = Object.entries(score.metrics).filter(([, value]) => (value as unknown) !== null);
  return {
    ...score,
    metrics: { ...NO_METRICS, ...(Object.fromEntries(known) as Partial<Metrics>) },
  };
}

const TITLE = 'Near the limit: what kube-dns costs';
const INTRO = [
  'Made by `npm run bench -- page`. What is asked of whom, and how to read the tables:',
  '[packages/bench](../README.md).',
].join('\n');
export const PAGE_FILE = 'page.md';

/** The files of the page by name: Markdown with tables, and its pictures. */
export function pageOf(results: EarlierResults): ReadonlyMap<string, string> {
  const [first] = results.reports;
  const report = new Report(TITLE, first?.machine ?? ({} as Machine), {});
  for (const [title, log] of results.logs) {
    const trial = log.scores[0]?.trial ?? '';
    report.addSection(scoreSection(title, trial, log, DNSMASQ), log.scores);
  }
  for (const [title, figures] of results.parts) {
    const rows = Object.entries(figures).map(([name, { unit, digits, values }]) => {
      const range = rangeOf(values.map((value) => value ?? Number.NaN));
      return [name, formatRange(range, digits), unit];
    });
    report.addSection({ title, header: ['', 'median (min…max)', ''], rows }, figures);
  }
  for (const { name, value, unit, bar, spread } of results.figures.values()) {
    const known = spread && { min: spread.min ?? Number.NaN, max: spread.max ?? Number.NaN };
    report.add(name, value ?? Number.NaN, unit, bar, known);
  }
  for (const text of notesOf(results)) report.note(text);
  const plots = plotsOf(results);
  const pictures = plots.map(({ title, file }) => `![${title}](${file})\n`).join('\n');
  const [head = '', ...sections] = report.toMarkdown().split('\n## ');
  const [heading = '', ...machine] = head.split('\n');
  const bars = sections.filter((text) => text.startsWith('Bars\n'));
  const tables = sections.filter((text) => !text.startsWith('Bars\n'));
  const page = [
    `${heading}\n\n${INTRO}\n\n${missedBars(report, results)}\n${machine.join('\n')}`,
    `Plots\n\n${pictures}`,
    ...tables,
    ...bars,
  ].join('\n## ');
  return new Map([[PAGE_FILE, page], ...plots.map(({ file, svg }) => [file, svg] as const)]);
}

/** Which bars are missed, before everything else. */
function missedBars({ missed }: Report, { figures }: EarlierResults): string {
  if (missed.length === 0) return `All ${figures.size} bars are met.`;
  const names = missed.map(({ name }) => `- ${name}`).join('\n');
  return `Of ${figures.size} bars ${missed.length} are missed; figures and spread are [below](#bars):\n\n${names}`;
}

/** Those of all reports, each once, and where and when the reports beside the first were made. */
function notesOf({ reports }: EarlierResults): readonly string[] {
  const [, ...others] = reports;
  const made = others.map(({ command, machine, results }) => {
    const { date, cpu, commit, loadBefore } = machine;
    const what = results === undefined ? command : Object.keys(results).join('; ');
    return `${what}: ${date}, ${cpu}, commit ${commit}, a load of ${loadBefore} before.`;
  });
  return [...new Set([...reports.flatMap(({ notes }) => notes), ...made])];
}

const RESULTS = fileURLToPath(new URL('../../results', import.meta.url));

const OPTIONS = {
  ...DNS.options,
  only: {
    ...DNS.options.only,
    initial: [
      'hits',
      'kubedns-services',
      'pod',
      'misses-zone',
      'misses-outside',
      'quota',
      'memory',
    ],
  },
  from: wordsOption([], 'files that "dns --json" has written; nothing is measured then'),
  out: textOption(RESULTS, 'FOLDER', 'where the page and its pictures are written'),
};

type Values = OptionValues<typeof OPTIONS>;

async function run(values: Values, context: CommandContext): Promise<void> {
  const { report, progress } = context;
  const { from, out } = values;
  if (from.length === 0) await DNS.run(values, context);
  // The report that is now full has the form of one that was kept.
  const made = { ...(JSON.parse(JSON.stringify(report)) as EarlierReport) };
  const reports = from.length === 0 ? [made] : from.map(readEarlier);
  mkdirSync(out, { recursive: true });
  for (const [name, text] of pageOf(new EarlierResults(reports))) {
    writeFileSync(join(out, name), text);
    progress(`written: ${join(out, name)}`);
  }
}

/** One page with tables and pictures. */
export const PAGE: Command<typeof OPTIONS> = {
  name: 'page',
  summary: 'one page with plots, from chosen workloads of dns or from what it has measured before',
  options: OPTIONS,
  format: 'markdown',
  run,
};

/** The tables that are drawn; all others are in tables only. */
const MAIN = [
  'hits, 4 sockets, one length',
  'kubedns-services, A',
  'pod, search path',
  'misses-zone',
  'misses-outside',
] as const;
const CLIENTS = 'hits, ';

/** All pictures that there are results for. */
function plotsOf(results: EarlierResults): readonly Plot[] {
  return [cpuPlot, clientsPlot, tailPlot, quotaPlot, memoryPlot].flatMap((draw) => draw(results));
}

function subjectsWith(
  results: EarlierResults,
  titles: readonly string[],
): readonly (readonly [string, ScoreLog, string, readonly string[]])[] {
  return titles.flatMap((title) => {
    const log = results.logs.get(title);
    const trial = log?.scores[0]?.trial;
    if (log === undefined || trial === undefined) return [];
    return [[title, log, trial, log.subjectsOf(trial)] as const];
  });
}

function cpuPlot(results: EarlierResults): readonly Plot[] {
  const groups = subjectsWith(results, MAIN).map(([title, log, trial, subjects]) => ({
    title,
    rows: subjects.map((label): BarRow => {
      const [user, system, behind] = (['userUs', 'systemUs', 'behindUs'] as const).map((metric) =>
        log.median(metric, label, trial),
      );
      const parts = [user, system, behind].filter((part) => part !== undefined && !isNaN(part));
      const own = log.median('cpuUs', label, trial);
      const echo = log.timesEcho(label, trial).median;
      const text = `${own.toFixed(1)}${Number.isNaN(echo) ? '' : `, ${echo.toFixed(2)} × echo`}`;
      return { label, side: sideOf(label), parts: parts as number[], text };
    }),
  }));
  const title = 'CPU time per answer, µs';
  const note =
    'dark: user; lighter: system; lightest: the server behind it, which the number leaves out';
  return plot('cpu.svg', title, () => barChart({ title, note, groups }), groups);
}

function clientsPlot(results: EarlierResults): readonly Plot[] {
  const titles = [...results.logs.keys()].filter((title) => title.startsWith(CLIENTS));
  const groups = subjectsWith(results, titles).map(([table, log, trial, subjects]) => ({
    title: table.slice(CLIENTS.length),
    rows: subjects.map((label): BarRow => {
      const ratio = log.timesEcho(label, trial).median;
      return { label, side: sideOf(label), parts: [ratio], text: ratio.toFixed(2) };
    }),
  }));
  const title = 'Hits: CPU time per answer, as a multiple of the echo';
  const note = 'from few clients and many, with names of one length and of many';
  return plot('clients.svg', title, () => barChart({ title, note, groups }), groups);
}

function tailPlot(results: EarlierResults): readonly Plot[] {
  const groups = subjectsWith(results, MAIN).map(([title, log, trial, subjects]) => ({
    title,
    rows: subjects.flatMap((label) => {
      const values = (['p50Ms', 'p99Ms', 'p999Ms'] as const).map((metric) =>
        log.median(metric, label, trial),
      );
      return values.some((value) => !(value > 0)) ? [] : [{ label, side: sideOf(label), values }];
    }),
  }));
  const known = groups.filter(({ rows }) => rows.length > 0);
  const title = 'Time to an answer in an open loop, ms: p50, p99, p99.9';
  const note =
    'at 20,000 questions a second, each timed from when it should have left; a line for each power of ten';
  const textOf = (values: readonly number[]) => values.map(shortMs).join(' / ');
  return plot('tail.svg', title, () => spreadChart({ title, note, groups: known }, textOf), known);
}

/** The figures of a part whose names match: a group for each first name, a row for each second. */
function groupsOf(
  results: EarlierResults,
  part: string,
  name: RegExp,
  rowOf: (server: string, value: number, figure: string) => BarRow,
  turned = false,
): readonly Group<BarRow>[] {
  const groups = new Map<string, BarRow[]>();
  for (const [figure, { values }] of Object.entries(results.parts.get(part) ?? {})) {
    const [, first, second] = name.exec(figure) ?? [];
    if (first === undefined || second === undefined) continue;
    const [group, row] = turned ? [second, first] : [first, second];
    const value = median(values.map((each) => each ?? Number.NaN));
    const rows = groups.get(group) ?? [];
    rows.push(rowOf(row, value, figure));
    groups.set(group, rows);
  }
  return [...groups].map(([title, rows]) => ({ title, rows }));
}

function quotaPlot(results: EarlierResults): readonly Plot[] {
  const row = (label: string, value: number): BarRow => ({
    label,
    side: sideOf(label),
    parts: [value],
    text: Math.round(value).toLocaleString('en'),
  });
  const groups = groupsOf(results, 'quota', /^(.*), (\d+m): hits$/, row, true);
  const title = 'Hits a second under a quota of CPU';
  const note = 'from 50 clients, each with one question in flight; m: thousandths of a CPU';
  return plot('quota.svg', title, () => barChart({ title, note, groups }), groups);
}

function memoryPlot(results: EarlierResults): readonly Plot[] {
  const row = (label: string, value: number, figure: string): BarRow => {
    const bar = results.figures.get(figure)?.bar;
    const limit = bar !== undefined && 'atMost' in bar ? { limit: bar.atMost } : {};
    return { label, side: 'ours', parts: [value], text: value.toFixed(1), ...limit };
  };
  const groups = groupsOf(results, 'memory', /^(\w+), (idle again|idle|used): anonymous$/, row);

  const title = 'Anonymous memory, MiB';
  const note =
    'idle, after 10,000 questions, 10,000 cached names and 200 scrapes, and 25 s later; the line is the bar';
  return plot('memory.svg', title, () => barChart({ title, note, groups }), groups);
}
