import { type Machine, Report } from '@kube-dns/testkit';
import { DNSMASQ } from '../load/server-testbed.js';
import { formatRange, scoreSection } from '../load/score-table.js';
import { rangeOf } from '@kube-dns/testkit';
import type { KeptResults } from './kept-results.js';
import { plotsOf } from './plots.js';

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
