import { formatValue, type Range, type Section } from '@kube-dns/testkit';
import type { MetricName } from './contest.js';
import type { ScoreLog } from './score-log.js';

/** The columns between the server and the end, each with its number of decimals. */
const COLUMNS: readonly {
  readonly metric: MetricName;
  readonly title: string;
  readonly digits: number;
  /** The column is there only if a server has the figure. */
  readonly isOptional?: boolean;
}[] = [
  { metric: 'behindUs', title: 'behind it µs', digits: 2, isOptional: true },
  { metric: 'togetherUs', title: 'together µs', digits: 2, isOptional: true },
  { metric: 'p50Ms', title: 'p50 ms', digits: 3 },
  { metric: 'p99Ms', title: 'p99 ms', digits: 3 },
  { metric: 'p999Ms', title: 'p99.9 ms', digits: 3 },
  { metric: 'openAnsweredPercent', title: 'open loop answered %', digits: 2 },
  { metric: 'ownP999Ms', title: 'load itself late, p99.9 ms', digits: 3 },
  { metric: 'repeatedPercent', title: 'windows repeated %', digits: 0, isOptional: true },
  { metric: 'singleUs', title: 'one at a time µs', digits: 0 },
  { metric: 'answeredPercent', title: 'answered %', digits: 2 },
  { metric: 'wrong', title: 'wrong', digits: 0 },
  { metric: 'answerBytes', title: 'bytes', digits: 0 },
  { metric: 'rssMib', title: 'RSS MiB', digits: 0 },
];
const RATIO_DIGITS = 2;

/** Its head, and its cell for a server. */
type Column = readonly [string, (subject: string) => string];

/** The median, with minimum and maximum where runs differ; `-` for unknown figures. */
export function formatRange({ min, median, max }: Range, digits: number): string {
  if (Number.isNaN(median)) return formatValue(median);
  const [low, middle, high] = [min, median, max].map((value) => value.toFixed(digits));
  return low === high ? `${middle}` : `${middle} (${low}…${high})`;
}

/**
 * What all subjects did with one trial, each beside the one of that name and beside the echo, where there
 * are these.
 */
export function scoreSection(title: string, trial: string, log: ScoreLog, beside: string): Section {
  const subjects = log.subjectsOf(trial);
  const hasEcho = !Number.isNaN(log.timesEcho(subjects[0] ?? '', trial).median);
  const columns = COLUMNS.filter(({ metric, isOptional = false }) => {
    const isKnown = (subject: string) => !Number.isNaN(log.median(metric, subject, trial));
    return !isOptional || subjects.some(isKnown);
  });
  const plain = (metric: MetricName, digits: number) => (subject: string) =>
    formatRange(log.range(metric, subject, trial), digits);
  const ratio = (ranges: (subject: string) => Range) => (subject: string) =>
    formatRange(ranges(subject), RATIO_DIGITS);
  const toPeer = ratio((subject) => log.ratio('queriesPerSecond', subject, beside, trial));
  const toEcho = ratio((subject) => log.timesEcho(subject, trial));
  const all: readonly Column[] = [
    ['server', (subject) => subject],
    ['queries/s', plain('queriesPerSecond', 0)],
    ...(subjects.includes(beside) ? [[`/ ${beside}`, toPeer] as const] : []),
    ['user µs', plain('userUs', 2)],
    ['sys µs', plain('systemUs', 2)],
    ...(hasEcho ? [['CPU × echo', toEcho] as const] : []),
    ...columns.map(({ title: head, metric, digits }) => [head, plain(metric, digits)] as const),
  ];
  const rows = subjects.map((subject) => all.map(([, cell]) => cell(subject)));
  return { title, header: all.map(([head]) => head), rows };
}
