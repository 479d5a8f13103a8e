import { execFile } from 'node:child_process';
import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Rows as text in columns; the columns in `right` are aligned right. */
function formatTable(rows: readonly (readonly string[])[], right: readonly number[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, cell.length)));
  }
  const lines = rows.map((row) => {
    const cells = row.map((cell, i) =>
      right.includes(i) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0),
    );
    return `${cells.join('  ').trimEnd()}\n`;
  });
  return lines.join('');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

/** A table of Markdown; its columns are aligned, so that it is also readable as text. */
export function markdownTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const cells = [header, ...rows].map((row) => header.map((_, i) => cell(row[i] ?? '')));
  const widths = header.map((_, i) => Math.max(3, ...cells.map((row) => row[i]!.length)));
  const lines = cells.map((row) => row.map((text, i) => text.padEnd(widths[i]!)).join(' | '));
  const rule = widths.map((width) => '-'.repeat(width)).join(' | ');
  const [head = '', ...body] = lines;
  return [head, rule, ...body].map((line) => `| ${line} |\n`).join('');
}

const run = promisify(execFile);
const GIB = 2 ** 30;

/** The machine and time of a measurement: figures of different machines must not be compared. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly kernel: string;
  /** Load average of the last minute before the start: other programs on the same cores. */
  readonly loadBefore: number;
  readonly benchNode: string;
  readonly serverNode: string;
  readonly date: string;
  /** With `+` where the checkout has uncommitted changes. */
  readonly commit: string;
}

async function output(command: string, args: readonly string[]): Promise<string> {
  try {
    const cwd = fileURLToPath(new URL('.', import.meta.url));
    return (await run(command, [...args], { cwd })).stdout.trim();
  } catch {
    // A missing git or program does not prevent the measurement.
    return 'unknown';
  }
}

async function commit(): Promise<string> {
  const hash = await output('git', ['rev-parse', '--short=10', 'HEAD']);
  const changes = await output('git', ['status', '--porcelain', '--untracked-files=no']);
  return changes === '' || hash === 'unknown' ? hash : `${hash}+`;
}

/** Describes this machine; `serverNode` is the Node that runs the measured programs. */
export async function describeMachine(serverNode: string): Promise<Machine> {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGib: Math.round((totalmem() / GIB) * 10) / 10,
    kernel: `${type()} ${release()}`,
    loadBefore: Math.round((loadavg()[0] ?? 0) * 100) / 100,
    benchNode: process.version,
    serverNode: await output(serverNode, ['--version']),
    date: new Date().toISOString(),
    commit: await commit(),
  };
}

/** The limit that a figure must reach. */
export type Bar = { readonly atMost: number } | { readonly atLeast: number };

/** A table with a title, for Markdown. */
export interface Section {
  readonly title: string;
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The least and the greatest value of several runs. */
interface Spread {
  readonly min: number;
  readonly max: number;
}

/** One figure of a report. `value` is NaN when it could not be measured. */
interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly bar?: Bar;
  /** Of the runs whose median the value is. */
  readonly spread?: Spread;
}

/** Everything that a command measured, in the order of the report. */
export class Report {
  readonly #command: string;
  readonly #machine: Machine;
  readonly #options: Readonly<Record<string, unknown>>;
  readonly #figures: Figure[] = [];
  readonly #notes: string[] = [];
  readonly #sections: Section[] = [];
  readonly #results: Record<string, unknown> = {};

  constructor(command: string, machine: Machine, options: Readonly<Record<string, unknown>>) {
    this.#command = command;
    this.#machine = machine;
    this.#options = options;
  }

  /** A number as bar is a maximum. */
  add(name: string, value: number, unit: string, bar?: Bar | number, spread?: Spread): void {
    const limit = typeof bar === 'number' ? { atMost: bar } : bar;
    this.#figures.push({
      name,
      value,
      unit,
      ...(limit !== undefined && { bar: limit }),
      ...(spread !== undefined && { spread: { min: spread.min, max: spread.max } }),
    });
  }

  /** A table above the figures in Markdown, and its content for JSON. */
  addSection(section: Section, result: unknown): void {
    this.#sections.push(section);
    this.#results[section.title] = result;
  }

  /** Adds a sentence below the tables. */
  note(text: string): void {
    this.#notes.push(text);
  }

  /** The figures that miss their bar; a figure that could not be measured misses it. */
  get missed(): readonly Figure[] {
    return this.#figures.filter((figure) => verdictOf(figure) === 'over');
  }

  toText(): string {
    const machine = Object.entries(this.#machine).map(([name, value]) => [name, String(value)]);
    const rows = this.#figures.map((figure) => [
      figure.name,
      formatValue(figure.value),
      figure.unit,
      figure.bar ? barText(figure.bar) : '',
      verdictOf(figure),
    ]);
    const table = formatTable([['', '', '', 'bar', ''], ...rows], [1, 3]);
    const notes = this.#notes.map((text) => `${text}\n`).join('');
    return `${this.#command}\n\n${formatTable(machine, [])}\n${table}${notes && `\n${notes}`}`;
  }

  toMarkdown(): string {
    const machine = Object.entries(this.#machine).map(([name, value]) => [name, String(value)]);
    const figures = this.#figures.map((figure) => [
      figure.name,
      `${formatValue(figure.value)} ${figure.unit}`.trim(),
      spreadText(figure),
      figure.bar ? barText(figure.bar) : '',
      verdictOf(figure) === 'over' ? 'missed' : verdictOf(figure),
    ]);
    const parts = [
      `# ${this.#command}\n`,
      markdownTable(['machine', ''], machine),
      ...this.#sections.map(
        ({ title, header, rows }) => `## ${title}\n\n${markdownTable(header, rows)}`,
      ),
      ...(figures.length > 0
        ? [`## Bars\n\n${markdownTable(['figure', 'median', 'min…max', 'bar', ''], figures)}`]
        : []),
      ...(this.#notes.length > 0 ? [this.#notes.map((text) => `- ${text}\n`).join('')] : []),
    ];
    return parts.join('\n');
  }

  toJSON(): object {
    return {
      command: this.#command,
      machine: this.#machine,
      options: this.#options,
      ...(this.#sections.length > 0 && { results: this.#results }),
      figures: this.#figures.map((figure) => ({ ...figure, verdict: verdictOf(figure) })),
      notes: this.#notes,
    };
  }
}

function verdictOf({ value, bar }: Figure): 'ok' | 'over' | '' {
  if (bar === undefined) return '';
  const isMet = 'atMost' in bar ? value <= bar.atMost : value >= bar.atLeast;
  return isMet ? 'ok' : 'over';
}

/** Empty where there was one run, or all were alike. */
function spreadText({ spread }: Figure): string {
  if (spread === undefined) return '';
  const [min, max] = [formatValue(spread.min), formatValue(spread.max)];
  return min === max ? '' : `${min}…${max}`;
}

function barText(bar: Bar): string {
  return 'atMost' in bar ? `<= ${formatValue(bar.atMost)}` : `>= ${formatValue(bar.atLeast)}`;
}

/** The text of a figure in tables; `-` when it could not be measured. */
export function formatValue(value: number): string {
  if (Number.isNaN(value)) return '-';
  if (Number.isInteger(value)) return String(value);
  return value.toFixed(value < 10 ? 2 : 1);
}
