import { SIDES } from '../question.js';
import type { Entry } from './entries.js';
import { histogramRows, timeText, totalRows, type ResultData } from './result.js';
import { MAX_EXAMPLES, type Difference, type LatencyBar } from './tally.js';

/** The result as tables for a terminal, 100 columns but for long records; ends with a line feed. */
export function tableText(data: ResultData): string {
  const parts = [
    [data.verdict],
    headLines(data),
    totalLines(data),
    classLines(
      'Conventions, which no client notices; a question may have several',
      data.conventions,
    ),
    classLines('Ignored', data.ignored),
    latencyLines(data),
    givenUpLines(data),
    entryLines(data),
  ];
  return parts
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n');
}

function headLines({ date, servers, api, questions, over, seconds, pairs, notes }: ResultData) {
  const { total, ...kinds } = questions;
  const parts = Object.entries(kinds)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${count} ${kind}`);
  const pace = seconds > 0 ? `, ${Math.round(pairs.total / seconds)} a second` : '';
  return [
    `left   ${servers.left}`,
    `right  ${servers.right}`,
    ...(api === null ? [] : [`api    ${api}`]),
    `date   ${timeText(date)}`,
    `${total} questions (${parts.join(', ')})`,
    `${pairs.total} queries to each side over ${over.join(', ')} in ${seconds} s${pace}`,
    ...notes.map((note) => `note: ${note}`),
  ];
}

function totalLines(data: ResultData): string[] {
  const shown = totalRows(data).filter(([text, count]) => count > 0 || text === 'the same');
  const rows = [...shown, ['in all', data.questions.total] as const];
  return ['Questions, by the worst difference', ...countRows(rows)];
}

function classLines(title: string, classes: ResultData['conventions']): string[] {
  if (classes.length === 0) return [];
  return [title, ...countRows(classes.map((one) => [`${one.class}: ${one.text}`, one.questions]))];
}

function countRows(rows: readonly (readonly [string, number])[]): string[] {
  const width = Math.max(...rows.map(([, count]) => String(count).length), 6);
  return rows.map(([text, count]) => `  ${String(count).padStart(width)}  ${text}`);
}

function latencyLines({ latency }: ResultData): string[] {
  const ms = (value: number) => `${value.toPrecision(3)} ms`.padStart(10);
  const head = ['p50', 'p90', 'p99', 'replies', 'no reply'].map((text) => text.padStart(10));
  const rows = SIDES.map((side) => {
    const { p50Ms, p90Ms, p99Ms, replies, noReply } = latency[side];
    const counts = [replies, noReply].map((count) => String(count).padStart(10));
    return `  ${side.padEnd(6)}${[ms(p50Ms), ms(p90Ms), ms(p99Ms), ...counts].join('')}`;
  });
  const bars = histogramLines(latency.left.histogram, latency.right.histogram);
  return [`Latency ${head.join('')}`, ...rows, ...bars];
}

function givenUpLines({ givenUp }: ResultData): string[] {
  return givenUp.map(({ side, way, reason }) => `${side} was given up over ${way}: ${reason}`);
}

function entryLines({ entries, differences }: ResultData): string[] {
  if (entries.length === 0) return [];
  const lines = entries.flatMap((entry) => {
    const [first, ...others] = entry.differences.map((index) => differences[index]!);
    return ['', ...oneEntry(entry, first!, others)];
  });
  return ['Differences that a client can notice, worst first', ...lines];
}

/** The first of equal differences whole, the names of two more, and how many there are. */
function oneEntry(entry: Entry, first: Difference, others: readonly Difference[]): string[] {
  const examples = others.slice(0, MAX_EXAMPLES - 1).map(({ name, type }) => `  ${name} ${type}`);
  const more = others.length - examples.length;
  const findings = first.findings.flatMap(({ aspect, left, right }) => [
    ...sideLines(aspect, 'left', left),
    ...sideLines('', 'right', right),
  ]);
  const questions = others.length === 0 ? '1 question' : `${1 + others.length} questions`;
  return [
    `${entry.class}, ${questions} (${entry.types.join(' or ')}, kind ${entry.kinds.join(' or ')})`,
    `  ${entry.meaning}`,
    `  ${first.name} ${first.type}  (over ${first.over.join(', ')})`,
    ...findings,
    ...examples,
    ...(more > 0 ? [`  and ${more} more: --json and --html have all`] : []),
  ];
}

function sideLines(aspect: string, side: string, texts: readonly string[]): string[] {
  const shown = texts.length === 0 ? ['-'] : texts;
  return shown.map((text, index) => {
    const lead = index === 0 ? `${aspect.padEnd(16)}${side}` : '';
    return `    ${lead.padEnd(23)}${text}`;
  });
}

const BAR_CELLS = 24;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;

/** Two distributions side by side; nothing without replies. */
function histogramLines(left: readonly LatencyBar[], right: readonly LatencyBar[]): string[] {
  const rows = histogramRows(left, right);
  if (rows.length === 0) return [];
  const most = Math.max(...rows.flatMap((row) => [row.left, row.right]));
  const side = (count: number) => `${String(count).padStart(8)} ${bar(count / most)}`;
  return [
    `  ${'up to'.padStart(10)}    left${' '.repeat(BAR_CELLS + 1)}    right`,
    ...rows.map((row) => {
      const label = `${row.toMs.toPrecision(3)} ms`.padStart(10);
      return `  ${label}${side(row.left)}${side(row.right)}`.trimEnd();
    }),
  ];
}

/** A part of the full width in eighths of a cell; anything above 0 is visible. */
function bar(part: number): string {
  const eighths = part === 0 ? 0 : Math.max(1, Math.round(part * BAR_CELLS * 8));
  const text = '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8]!;
  return text.padEnd(BAR_CELLS);
}
