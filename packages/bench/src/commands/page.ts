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

/** Whose figure it is: what ours is called begins so. */
type Side = 'ours' | 'echo' | 'peer';

const STYLE = [
  'text{font:12px system-ui,sans-serif;fill:#1f2328}',
  '.head{font-size:14px;font-weight:600}.group{font-weight:600}.note{fill:#59636e}',
  '.ours{fill:#1f6feb}.echo{fill:#1a7f64}.peer{fill:#8c959f}',
  '.line{stroke:#d1d9e0}.mark{stroke:#cf222e;stroke-width:2}',
  '@media (prefers-color-scheme:dark){text{fill:#e6edf3}.note{fill:#9198a1}',
  '.ours{fill:#4493f8}.echo{fill:#3fb68b}.peer{fill:#768390}',
  '.line{stroke:#3d444d}.mark{stroke:#f85149}}',
].join('');

/** The whole picture. It has no background and no script, and follows the scheme of the reader. */
function svgOf(
  title: string,
  { width, height }: { readonly width: number; readonly height: number },
  content: readonly string[],
): string {
  const size = `viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">`,
    `<title>${escapeXml(title)}</title>`,
    `<style>${STYLE}</style>`,
    ...content,
    '</svg>',
    '',
  ].join('\n');
}

/** Text with its baseline at `y`. */
function textAt(
  x: number,
  y: number,
  text: string,
  { className = '', anchor = 'start' } = {},
): string {
  return `<text x="${round(x)}" y="${round(y)}" class="${className}" text-anchor="${anchor}">${escapeXml(text)}</text>`;
}

function lineBetween(
  [x1, y1]: readonly [number, number],
  [x2, y2]: readonly [number, number],
  className: string,
): string {
  return `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" class="${className}"/>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Whose figure a server's is, by its name. */
function sideOf(server: string): Side {
  if (server.startsWith('our ')) return 'ours';
  return / (?:echo|relay)$/.test(server) ? 'echo' : 'peer';
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

/** One bar, its parts beside each other. */
interface BarRow {
  readonly label: string;
  readonly side: Side;
  readonly parts: readonly number[];
  /** Behind the bar. */
  readonly text: string;
  /** A limit that is shown as a line across it. */
  readonly limit?: number;
}

/** The median and two later percentiles. */
interface SpreadRow {
  readonly label: string;
  readonly side: Side;
  readonly values: readonly number[];
}

/** Rows that belong together. */
interface Group<T> {
  readonly title: string;
  readonly rows: readonly T[];
}

/** What is drawn, and the sentence below its title. */
interface Chart<T> {
  readonly title: string;
  readonly note: string;
  readonly groups: readonly Group<T>[];
}

const WIDTH = 760;
const LEFT = 180;
const RIGHT = 130;
const TOP = 52;
const ROW = 20;
const BAR = 14;
const GROUP = 30;
const PLOT = WIDTH - LEFT - RIGHT;
/** How much lighter each further part of a bar is. */
const SHADES = [1, 0.55, 0.28] as const;

/** Horizontal bars from 0, those of a chart on one scale; what is NaN is left out. */
function barChart({ title, note, groups: all }: Chart<BarRow>): string {
  const isKnown = ({ parts }: BarRow) => !Number.isNaN(sum(parts));
  const groups = all
    .map((group) => ({ ...group, rows: group.rows.filter(isKnown) }))
    .filter((group) => group.rows.length > 0);
  const rows = groups.flatMap((group) => group.rows);
  const longest = Math.max(...rows.map(({ parts, limit = 0 }) => Math.max(sum(parts), limit)), 0);
  const scale = (value: number) => (longest === 0 ? 0 : (value / longest) * PLOT);
  return layOut({ title, note, groups }, ({ side, parts, text, limit }, y) => {
    const bars: string[] = [];
    let x = LEFT;
    for (const [i, part] of parts.entries()) {
      const width = scale(part);
      const size = `width="${round(width)}" height="${BAR}"`;
      bars.push(
        `<rect x="${round(x)}" y="${round(y)}" ${size} class="${side}" opacity="${SHADES[i] ?? 0.2}"/>`,
      );
      x += width;
    }
    const limitX = limit === undefined ? LEFT : LEFT + scale(limit);
    if (limit !== undefined) bars.push(lineBetween([limitX, y - 2], [limitX, y + BAR + 2], 'mark'));
    return [...bars, textAt(Math.max(x, limitX) + 6, y + BAR - 3, text)];
  });
}

/** For each row a line from its first value to its last, with a point at each, on a logarithmic scale. */
function spreadChart(
  { title, note, groups }: Chart<SpreadRow>,
  textOf: (values: readonly number[]) => string,
): string {
  const values = groups.flatMap(({ rows }) => rows.flatMap((row) => [...row.values]));
  const first = Math.floor(Math.log10(Math.min(...values)));
  const last = Math.ceil(Math.log10(Math.max(...values)));
  const scale = (value: number) =>
    LEFT + ((Math.log10(value) - first) / (last - first || 1)) * PLOT;
  const ends = `${note}, from ${10 ** first} to ${10 ** last}`;
  return layOut({ title, note: ends, groups }, ({ side, values: own }, y) => {
    const middle = y + BAR / 2;
    const ticks = Array.from({ length: last - first + 1 }, (_, i) => scale(10 ** (first + i)));
    return [
      ...ticks.map((x) => lineBetween([x, y - 3], [x, y + ROW - 3], 'line')),
      lineBetween([scale(own[0]!), middle], [scale(own.at(-1)!), middle], 'line'),
      ...own.map((value, i) => {
        const at = `cx="${round(scale(value))}" cy="${round(middle)}"`;
        return `<circle ${at} r="5" class="${side}" opacity="${SHADES[i] ?? 0.2}"/>`;
      }),
      textAt(LEFT + PLOT + 8, y + BAR - 3, textOf(own), { className: 'note' }),
    ];
  });
}

/** The title, and the groups one below the other; `draw` has the y of a row's upper edge. */
function layOut<T extends { readonly label: string; readonly side: Side }>(
  { title, note, groups }: Chart<T>,
  draw: (row: T, y: number) => readonly string[],
): string {
  const content = [
    textAt(0, 16, title, { className: 'head' }),
    textAt(0, 36, note, { className: 'note' }),
  ];
  let y = TOP;
  for (const group of groups) {
    content.push(textAt(0, y + 14, group.title, { className: 'group' }));
    y += GROUP - 6;
    for (const row of group.rows) {
      const label = { className: row.side === 'ours' ? 'group' : '', anchor: 'end' };
      content.push(textAt(LEFT - 8, y + BAR - 3, row.label, label), ...draw(row, y));
      y += ROW;
    }
    y += 8;
  }
  return svgOf(title, { width: WIDTH, height: y }, content);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** The tables that are drawn; all others are in tables only. */
const MAIN = [
  'hits, 4 sockets, one length',
  'kubedns-services, A',
  'pod, search path',
  'misses-zone',
  'misses-outside',
] as const;
const CLIENTS = 'hits, ';

/** A picture: the name of its file, and what it shows. */
interface Plot {
  readonly file: string;
  readonly title: string;
  readonly svg: string;
}

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

function plot(file: string, title: string, svg: () => string, groups: readonly unknown[]): Plot[] {
  return groups.length === 0 ? [] : [{ file, title, svg: svg() }];
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

/** Two digits, and no fractions of many milliseconds. */
function shortMs(value: number): string {
  return value < 10 ? value.toPrecision(2) : String(Math.round(value));
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
