import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Bar,
  type Command,
  type CommandContext,
  type Machine,
  MeasureError,
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
import { DNSMASQ } from '../load/server-testbed.js';
import { plotsOf } from '../page/plots.js';
import { DNS } from './dns.js';

/** A figure as the JSON of a report has it; null: it could not be measured. */
interface KeptFigure {
  readonly name: string;
  readonly value: number | null;
  readonly unit: string;
  readonly bar?: Bar;
  readonly spread?: { readonly min: number | null; readonly max: number | null };
}

/** The commands whose reports can be on a page. */
const KEPT_COMMANDS = ['dns', 'dnsmasq-load', 'kubedns-scale'];

/** What the JSON of their reports has. */
export interface KeptReport {
  readonly command: string;
  readonly machine: Machine;
  readonly options: Readonly<Record<string, unknown>>;
  /** By the title of its table: the scores of a trial, or the figures of a part. */
  readonly results?: Readonly<
    Record<string, readonly Score[] | Readonly<Record<string, SeriesResult>>>
  >;
  readonly figures: readonly KeptFigure[];
  readonly notes: readonly string[];
}

/** Reads a file that `--json` of one of these commands has written; throws a MeasureError for another. */
function readKept(path: string): KeptReport {
  let report: KeptReport;
  try {
    report = JSON.parse(readFileSync(path, 'utf8')) as KeptReport;
  } catch (cause) {
    throw new MeasureError(`${path} cannot be read as JSON`, { cause });
  }
  if (KEPT_COMMANDS.includes(report.command)) return report;
  throw new MeasureError(`${path} was not written by --json of ${KEPT_COMMANDS.join(', ')}`);
}

/** The results of several reports; of the same table that of the last report. */
export class KeptResults {
  readonly reports: readonly KeptReport[];
  readonly logs = new Map<string, ScoreLog>();
  readonly parts = new Map<string, Readonly<Record<string, SeriesResult>>>();
  readonly figures = new Map<string, KeptFigure>();

  constructor(reports: readonly KeptReport[]) {
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

  #add(title: string, result: NonNullable<KeptReport['results']>[string]): void {
    if (isScores(result)) this.logs.set(title, new ScoreLog(result.map(withoutNulls)));
    else this.parts.set(title, result);
  }
}

function isScores(result: NonNullable<KeptReport['results']>[string]): result is readonly Score[] {
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
export function pageOf(results: KeptResults): ReadonlyMap<string, string> {
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
function missedBars({ missed }: Report, { figures }: KeptResults): string {
  if (missed.length === 0) return `All ${figures.size} bars are met.`;
  const names = missed.map(({ name }) => `- ${name}`).join('\n');
  return `Of ${figures.size} bars ${missed.length} are missed; figures and spread are [below](#bars):\n\n${names}`;
}

/** Those of all reports, each once, and where and when the reports beside the first were made. */
function notesOf({ reports }: KeptResults): readonly string[] {
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
  const made = { ...(JSON.parse(JSON.stringify(report)) as KeptReport) };
  const reports = from.length === 0 ? [made] : from.map(readKept);
  mkdirSync(out, { recursive: true });
  for (const [name, text] of pageOf(new KeptResults(reports))) {
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
