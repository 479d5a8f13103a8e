import { median } from '@kube-dns/testkit';
import type { ScoreLog } from '../load/score-log.js';
import { type BarRow, barChart, type Group, spreadChart } from './charts.js';
import type { KeptResults } from './kept-results.js';
import { sideOf } from './svg.js';

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
export interface Plot {
  readonly file: string;
  readonly title: string;
  readonly svg: string;
}

/** All pictures that there are results for. */
export function plotsOf(results: KeptResults): readonly Plot[] {
  return [cpuPlot, clientsPlot, tailPlot, quotaPlot, memoryPlot].flatMap((draw) => draw(results));
}

function subjectsWith(
  results: KeptResults,
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

function cpuPlot(results: KeptResults): readonly Plot[] {
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

function clientsPlot(results: KeptResults): readonly Plot[] {
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

function tailPlot(results: KeptResults): readonly Plot[] {
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
  results: KeptResults,
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

function quotaPlot(results: KeptResults): readonly Plot[] {
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

function memoryPlot(results: KeptResults): readonly Plot[] {
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
