import { SIDES } from '../asking/way.js';
import { ASPECTS, type Aspect } from '../verdict/compare-replies.js';
import { KNOWN_CLASSES, type KnownClass } from '../verdict/known-classes.js';
import type { Difference } from '../verdict/tally.js';
import { histogramLines } from './histogram.js';
import type { ResultData } from './json.js';

/** The result as tables for a terminal, 100 columns but for long records; ends with a line feed. */
export function tableText(data: ResultData): string {
  const parts = [
    headLines(data),
    pairLines(data),
    knownLines(data),
    latencyLines(data),
    givenUpLines(data),
    differenceLines(data),
  ];
  return parts
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n');
}

function headLines({ servers, questions, over, seconds, pairs, notes }: ResultData): string[] {
  const { total, ...kinds } = questions;
  const parts = Object.entries(kinds)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${count} ${kind}`);
  const pace = seconds > 0 ? `, ${Math.round(pairs.total / seconds)} a second` : '';
  return [
    `left   ${servers.left}`,
    `right  ${servers.right}`,
    `${total} questions (${parts.join(', ')}) over ${over.join(', ')}: ` +
      `${pairs.total} to each side in ${seconds} s${pace}`,
    ...notes.map((note) => `note: ${note}`),
  ];
}

function pairLines({ pairs }: ResultData): string[] {
  const rows: [string, number][] = [
    ['the same', pairs.same],
    ['known differences only', pairs.known],
    ['different', pairs.different],
  ];
  if (pairs.skipped > 0) rows.push(['not asked', pairs.skipped]);
  return ['Replies', ...countRows(rows)];
}

function knownLines({ known }: ResultData): string[] {
  const rows = (Object.keys(KNOWN_CLASSES) as KnownClass[])
    .filter((one) => known[one] > 0)
    .map((one): [string, number] => [KNOWN_CLASSES[one], known[one]]);
  return rows.length === 0 ? [] : ['Known and harmless, in questions', ...countRows(rows)];
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

function differenceLines({ differences, aspects }: ResultData): string[] {
  if (differences.length === 0) return ['No differences beyond the known ones.'];
  const counts = (Object.keys(ASPECTS) as Aspect[])
    .filter((aspect) => aspects[aspect] > 0)
    .map((aspect): [string, number] => [`${aspect}: ${ASPECTS[aspect]}`, aspects[aspect]]);
  return ['Differences, worst first', ...countRows(counts), ...differences.flatMap(oneDifference)];
}

function oneDifference({ name, type, kind, over, findings }: Difference): string[] {
  const lines = findings.flatMap(({ aspect, left, right }) => [
    ...sideLines(aspect, 'left', left),
    ...sideLines('', 'right', right),
  ]);
  return ['', `${name} ${type}  (${kind}, over ${over.join(', ')})`, ...lines];
}

function sideLines(aspect: string, side: string, texts: readonly string[]): string[] {
  const shown = texts.length === 0 ? ['-'] : texts;
  return shown.map((text, index) => {
    const lead = index === 0 ? `${aspect.padEnd(16)}${side}` : '';
    return `  ${lead.padEnd(23)}${text}`;
  });
}
