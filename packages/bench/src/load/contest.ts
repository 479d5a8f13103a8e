import type { RunningProgram } from '@kube-dns/testkit';
import type { LoadQuestion } from '../queries/question-file.js';

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
}

/** One kind of load that all subjects are given. */
export interface Trial {
  readonly name: string;
  readonly questions: readonly LoadQuestion[];
  /** The rcodes that answers may have. */
  readonly rcodes: readonly string[];
  readonly isOverTcp?: boolean;
}

/** The servers that are measured side by side. */
export interface Contest {
  readonly subjects: readonly Subject[];
  readonly trials: readonly Trial[];
}

/** The figures of one subject with one trial in one run; NaN: unknown. */
export interface Metrics {
  readonly queriesPerSecond: number;
  /** CPU time for each answered query, in µs. */
  readonly userUs: number;
  readonly systemUs: number;
  readonly cpuUs: number;
  /** Time to an answer at a fixed rate, in ms. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Median time to an answer with one query in flight, in µs. */
  readonly singleUs: number;
  /** Answered queries of those sent as fast as it answers, in per cent. */
  readonly answeredPercent: number;
  /** Answers with another rcode than the trial's. */
  readonly wrong: number;
  readonly answerBytes: number;
  readonly rssMib: number;
}

export type MetricName = keyof Metrics;

/** The metrics of one run. */
export interface Score {
  readonly subject: string;
  readonly trial: string;
  readonly run: number;
  readonly metrics: Metrics;
}
