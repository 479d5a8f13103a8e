import { SIDES, type Side, type Way } from '../question.js';
import { ASPECT_ORDER, ASPECTS, KNOWN_CLASSES, type KnownClass } from './compare-replies.js';
import { entriesOf } from './entries.js';
import type { LogLines } from './gather.js';
import {
  CLASSES,
  type DifferenceClass,
  type GivenUp,
  type Latency,
  type LatencyBar,
  type Tally,
} from './tally.js';

/** A complete run: what every report shows. */
export interface Result {
  readonly startedAt: Date;
  /** As in the flags. */
  readonly servers: Readonly<Record<Side, string>>;
  /** The API server that the objects were read from. */
  readonly api: string | undefined;
  readonly ways: readonly Way[];
  readonly rate: number;
  readonly seconds: number;
  readonly notes: readonly string[];
  readonly logs: readonly LogLines[];
  readonly tally: Tally;
}

/** Milliseconds, to the microsecond. */
function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

function latencyOf(latency: Latency, noReply: number) {
  return {
    replies: latency.count,
    noReply,
    p50Ms: round(latency.percentileMs(0.5)),
    p90Ms: round(latency.percentileMs(0.9)),
    p99Ms: round(latency.percentileMs(0.99)),
    histogram: latency.bars().map(({ toMs, count }) => ({ toMs: round(toMs), count })),
  };
}

/** The whole result as plain data: what `--json` prints and the page shows. */
export function resultData(result: Result) {
  const { startedAt, servers, api, ways, rate, seconds, notes, logs, tally } = result;
  const differences = tally.differences();
  const entries = entriesOf(differences);
  const found = (classes: readonly DifferenceClass[]) =>
    classes
      .filter((one) => tally.classes[one].questions > 0)
      .map((one) => ({ class: one, text: CLASSES[one], ...tally.classes[one] }));
  const { ignore } = tally.rules;
  const known = Object.keys(KNOWN_CLASSES) as KnownClass[];
  const conventions = found(known.filter((one) => !ignore.has(one)));
  const ignored = found([...ignore]);
  const counts = {
    differences: entries.length,
    conventions: conventions.length,
    ignored: ignored.length,
  };
  return {
    verdict: verdictText(counts, tally.givenUp),
    isFailed: tally.isFailed,
    date: startedAt.toISOString(),
    servers,
    api: api ?? null,
    over: ways,
    rate,
    seconds: Math.round(seconds * 100) / 100,
    notes,
    logs,
    questions: { total: tally.questions, ...tally.kinds },
    // These four add up to all questions, and the aspects to `different`.
    totals: {
      same: tally.same,
      known: tally.known,
      different: tally.different,
      notAsked: tally.notAsked,
    },
    aspects: tally.aspects,
    conventions,
    ignored,
    pairs: { total: tally.pairs, skipped: tally.skipped },
    latency: Object.fromEntries(
      SIDES.map((side) => [side, latencyOf(tally.latency[side], tally.noReply[side])]),
    ) as Record<(typeof SIDES)[number], ReturnType<typeof latencyOf>>,
    givenUp: tally.givenUp,
    entries,
    differences,
  };
}
export type ResultData = ReturnType<typeof resultData>;

/** A date of the result for people, to the second. */
export function timeText(date: string): string {
  return `${date.slice(0, 19).replace('T', ' ')} UTC`;
}

function verdictText(
  counts: Readonly<Record<'differences' | 'conventions' | 'ignored', number>>,
  givenUp: readonly GivenUp[],
): string {
  const { differences, conventions, ignored } = counts;
  const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;
  return [
    differences === 0
      ? 'no difference that a client can notice'
      : `${plural(differences, 'difference')} that a client can notice`,
    ...(conventions > 0 ? [plural(conventions, 'convention')] : []),
    ...(ignored > 0 ? [`${ignored} ignored`] : []),
    ...givenUp.map(({ side, way }) => `incomplete: ${side} was given up over ${way}`),
  ].join(', ');
}

/** The questions by their worst difference: each question is in one row, so that the rows add up. */
export function totalRows({ totals, aspects, ignored }: ResultData): [string, number][] {
  return [
    ['the same', totals.same],
    [ignored.length > 0 ? 'conventions or ignored only' : 'conventions only', totals.known],
    ...ASPECT_ORDER.map((aspect): [string, number] => [
      `${aspect}: ${ASPECTS[aspect]}`,
      aspects[aspect],
    ]),
    ['not asked', totals.notAsked],
  ];
}

/** How many replies of each side took at most `toMs`, and more than in the row before. */
interface HistogramRow {
  readonly toMs: number;
  readonly left: number;
  readonly right: number;
}

/** Two distributions side by side, a row for each doubling of the time; nothing without replies. */
export function histogramRows(
  left: readonly LatencyBar[],
  right: readonly LatencyBar[],
): HistogramRow[] {
  const limits = [...new Set([...left, ...right].map(({ toMs }) => toMs))].sort((a, b) => a - b);
  const countOf = (bars: readonly LatencyBar[], limit: number) =>
    bars.find(({ toMs }) => toMs === limit)?.count ?? 0;
  return limits.map((toMs) => ({ toMs, left: countOf(left, toMs), right: countOf(right, toMs) }));
}
