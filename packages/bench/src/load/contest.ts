import type { RunningProgram } from '@kube-dns/testkit';
import type { RCODE } from '@kube-dns/wire';
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
export function isEchoName(name: string): boolean {
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

export type MetricName = keyof Metrics;

/** Of what was not measured. */
export const NO_METRICS: Metrics = {
  queriesPerSecond: Number.NaN,
  userUs: Number.NaN,
  systemUs: Number.NaN,
  cpuUs: Number.NaN,
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
