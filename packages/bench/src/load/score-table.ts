import { formatValue, type Range, type Section } from '@kube-dns/testkit';
import type { MetricName } from './contest.js';
import type { ScoreLog } from './score-log.js';

/** The columns between the server and the end, each with its number of decimals. */
const COLUMNS: readonly {
  readonly metric: MetricName;
  readonly title: string;
  readonly digits: number;
}[] = [
  { metric: 'queriesPerSecond', title: 'queries/s', digits: 0 },
  { metric: 'userUs', title: 'user µs', digits: 2 },
  { metric: 'systemUs', title: 'sys µs', digits: 2 },
  { metric: 'p50Ms', title: 'p50 ms', digits: 3 },
  { metric: 'p99Ms', title: 'p99 ms', digits: 3 },
  { metric: 'singleUs', title: 'one at a time µs', digits: 0 },
  { metric: 'answeredPercent', title: 'answered %', digits: 2 },
  { metric: 'wrong', title: 'wrong', digits: 0 },
  { metric: 'answerBytes', title: 'bytes', digits: 0 },
  { metric: 'rssMib', title: 'RSS MiB', digits: 0 },
];
const RATIO_DIGITS = 2;

/** The median, with minimum and maximum where runs differ; `-` for unknown figures. */
export function formatRange({ min, median, max }: Range, digits: number): string {
  if (Number.isNaN(median)) return formatValue(median);
  const [low, middle, high] = [min, median, max].map((value) => value.toFixed(digits));
  return low === high ? `${middle}` : `${middle} (${low}…${high})`;
}

/** What all subjects did with one trial, each beside the one of that name where there is one. */
export function scoreSection(title: string, trial: string, log: ScoreLog, beside: string): Section {
  const own = log.scores.filter((score) => score.trial === trial);
  const subjects = [...new Set(own.map(({ subject }) => subject))];
  const hasPeer = subjects.includes(beside);
  const rows = subjects.map((subject) => {
    const [rate = '', ...others] = COLUMNS.map(({ metric, digits }) =>
      formatRange(log.range(metric, subject, trial), digits),
    );
    const ratio = log.ratio('queriesPerSecond', subject, beside, trial);
    return [subject, rate, ...(hasPeer ? [formatRange(ratio, RATIO_DIGITS)] : []), ...others];
  });
  const [first = '', ...rest] = COLUMNS.map((column) => column.title);
  const header = ['server', first, ...(hasPeer ? [`/ ${beside}`] : []), ...rest];
  return { title, header, rows };
}
