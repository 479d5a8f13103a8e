import {
  type Bar,
  formatValue,
  type Range,
  rangeOf,
  type Report,
  type RunningProgram,
  type Section,
} from '@kube-dns/testkit';
import type { RCODE } from '@kube-dns/wire';
import type { LoadQuestion } from '../queries.js';

/** A server that takes part. */
export interface Subject {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
  /** Whether it is one process; otherwise its CPU time and memory are not comparable. */
  readonly isOneProcess: boolean;
  /** Throws a MeasureError when it has ended. */
  readonly check: () => void;
  /** Undefined for the echo. */
  readonly server?: RunningProgram;
  /** Whether it has nothing to say over TCP. */
  readonly isUdpOnly?: boolean;
  /** The trials that it takes part in; default: all. */
  readonly trials?: readonly string[];
  /** Whether it sends each query back: its answers have no rcode of their own. */
  readonly isEcho?: boolean;
  /** The server that it asks, whose CPU time is counted, too. */
  readonly behind?: Pick<Subject, 'name' | 'pid' | 'check'>;
}

/** The name of an echo of this engine. */
export function echoName(engine: string): string {
  return `${engine} echo`;
}

/** Whether this is the name of an echo. */
function isEchoName(name: string): boolean {
  return name.endsWith(' echo');
}

/** One kind of load that all subjects are given. */
export interface Trial {
  readonly name: string;
  readonly questions: readonly LoadQuestion[];
  /** The rcodes that answers may have. */
  readonly rcodes: readonly (keyof typeof RCODE)[];
  readonly isOverTcp?: boolean;
  /** The sockets that it is asked from; default: 4. */
  readonly sockets?: number;
}

/** The servers that are measured side by side. */
export interface Contest {
  readonly subjects: readonly Subject[];
  readonly trials: readonly Trial[];
  /** What is different on this machine. */
  readonly notes?: readonly string[];
}

/** The figures of one subject with one trial in one run; NaN: unknown. */
export interface Metrics {
  readonly queriesPerSecond: number;
  /** CPU time for each answered query, in µs. */
  readonly userUs: number;
  readonly systemUs: number;
  readonly cpuUs: number;
  /** The part of it that the busiest thread of the server had, in per cent. */
  readonly busiestPercent: number;
  /** That of the server which it asks, for the same answers. */
  readonly behindUs: number;
  readonly togetherUs: number;
  /** Time to an answer in an open loop at a fixed rate, in ms, from when the question should have left. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  /** What part of the questions that were sent there had an answer within a second, in per cent. */
  readonly openAnsweredPercent: number;
  /** How late the load itself was there, in ms: its p99.9. */
  readonly ownP999Ms: number;
  /** Windows of the open loop that were run again because the machine kept the load from its core, in per cent. */
  readonly repeatedPercent: number;
  /** What part of its questions left before the end, in per cent. */
  readonly sentInTimePercent: number;
  /** Median time to an answer with one query in flight, in µs. */
  readonly singleUs: number;
  /** Answered queries of those sent as fast as it answers, in per cent. */
  readonly answeredPercent: number;
  /** Answers with another rcode than the trial's. */
  readonly wrong: number;
  readonly answerBytes: number;
  readonly rssMib: number;
}

type MetricName = keyof Metrics;

/** Of what was not measured. */
export const NO_METRICS: Metrics = {
  queriesPerSecond: Number.NaN,
  userUs: Number.NaN,
  systemUs: Number.NaN,
  cpuUs: Number.NaN,
  busiestPercent: Number.NaN,
  behindUs: Number.NaN,
  togetherUs: Number.NaN,
  p50Ms: Number.NaN,
  p99Ms: Number.NaN,
  p999Ms: Number.NaN,
  openAnsweredPercent: Number.NaN,
  ownP999Ms: Number.NaN,
  repeatedPercent: Number.NaN,
  sentInTimePercent: Number.NaN,
  singleUs: Number.NaN,
  answeredPercent: Number.NaN,
  wrong: Number.NaN,
  answerBytes: Number.NaN,
  rssMib: Number.NaN,
};

/** The metrics of one run. */
export interface Score {
  readonly subject: string;
  readonly trial: string;
  readonly run: number;
  readonly metrics: Metrics;
}

/** The scores of a contest, looked up. */
export class ScoreLog {
  readonly scores: readonly Score[];

  constructor(scores: readonly Score[]) {
    this.scores = scores;
  }

  has(subject: string): boolean {
    return this.scores.some((score) => score.subject === subject);
  }

  /** Those that had this trial, in the order of the runs. */
  subjectsOf(trial: string): readonly string[] {
    const own = this.scores.filter((score) => score.trial === trial);
    return [...new Set(own.map(({ subject }) => subject))];
  }

  /** The CPU time of a subject over that of the echo, run by run; NaN without an echo. */
  timesEcho(subject: string, trial: string): Range {
    const echo = this.subjectsOf(trial).find(isEchoName);
    return echo === undefined ? rangeOf([]) : this.ratio('cpuUs', subject, echo, trial);
  }

  /** One figure over all runs; NaN where no run has it. */
  range(metric: MetricName, subject: string, trial: string): Range {
    return rangeOf(this.#of(subject, trial).map(({ metrics }) => metrics[metric]));
  }

  median(metric: MetricName, subject: string, trial: string): number {
    return this.range(metric, subject, trial).median;
  }

  /** The figure of one subject over that of another, run by run. */
  ratio(metric: MetricName, subject: string, to: string, trial: string): Range {
    return this.#ratio(metric, this.#of(subject, trial), this.#of(to, trial));
  }

  /** The figure of a subject in one trial over its own in another, run by run. */
  ratioOfTrials(metric: MetricName, subject: string, trial: string, to: string): Range {
    return this.#ratio(metric, this.#of(subject, trial), this.#of(subject, to));
  }

  #of(subject: string, trial: string): readonly Score[] {
    return this.scores.filter((score) => score.subject === subject && score.trial === trial);
  }

  #ratio(metric: MetricName, above: readonly Score[], below: readonly Score[]): Range {
    const ratios = above.map(({ run, metrics }) => {
      const other = below.find((score) => score.run === run);
      return metrics[metric] / (other?.metrics[metric] ?? Number.NaN);
    });
    return rangeOf(ratios);
  }
}

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

/** A figure without its values. */
interface FigureKind {
  readonly unit: string;
  readonly digits?: number;
  readonly bar?: Bar;
  /** Which value of the runs is compared with the bar; default: the median. */
  readonly judged?: 'max' | 'median';
}

/** A figure with the values of all runs, as JSON has it; null: unknown. */
export interface SeriesResult {
  readonly unit: string;
  readonly digits: number;
  readonly values: readonly (number | null)[];
}

/** Figures of several runs, in the order in which they were first added. */
export class Series {
  readonly #kinds = new Map<string, FigureKind>();
  readonly #values = new Map<string, number[]>();

  add(name: string, value: number, kind: FigureKind): void {
    this.#kinds.set(name, kind);
    const values = this.#values.get(name);
    if (values) values.push(value);
    else this.#values.set(name, [value]);
  }

  /** All of them in one table, and those with a bar beside it. */
  addTo(report: Report, title: string): void {
    const section: Section = { title, header: ['', 'median (min…max)', ''], rows: this.#rows() };
    const results = [...this.#kinds].map(([name, { unit, digits = 0 }]) => {
      const result: SeriesResult = { unit, digits, values: this.#values.get(name)! };
      return [name, result] as const;
    });
    report.addSection(section, Object.fromEntries(results));
    for (const [name, { unit, bar, judged = 'median' }] of this.#kinds) {
      const range = rangeOf(this.#values.get(name)!);
      if (bar) report.add(name, range[judged], unit, bar, range);
    }
  }

  #rows(): readonly (readonly string[])[] {
    return [...this.#kinds].map(([name, { unit, digits = 0 }]) => {
      return [name, formatRange(rangeOf(this.#values.get(name)!), digits), unit];
    });
  }
}
