import type { Bar, CorePlan, Owned, Range } from '@kube-dns/testkit';
import type { WarmUpPlan } from '../load/run-contest.js';
import type { Contest, ScoreLog, Series } from '../load/scores.js';
import { DNSMASQ, type Programs, type ServerTestbed } from '../load/testbed.js';

/** What every part of a measurement has. */
export interface MeasureContext {
  readonly cores: CorePlan | undefined;
  readonly owned: Owned;
  readonly progress: (text: string) => void;
  readonly note: (text: string) => void;
  readonly series: Series;
  readonly runs: number;
  readonly seconds: number;
}

/** What a part beside the workloads is measured with. */
export interface PartContext extends MeasureContext {
  readonly programs: Programs;
  /** Different names. */
  readonly names: number;
  /** Of each process, before it is measured. */
  readonly warmUp: WarmUpPlan;
  /** Seconds without a question until memory is read once more; 0: it is not. */
  readonly idleSeconds: number;
  /** Thousandths of a CPU. */
  readonly quotas: readonly number[];
}

/** A measurement beside the workloads, whose table has a row for each figure. */
export interface Part {
  readonly name: string;
  readonly summary: string;
  readonly measure: (context: PartContext) => Promise<void>;
}

/** How much a workload asks. */
export interface WorkloadSize {
  /** Different names. */
  readonly names: number;
}

/** A figure and its bar. */
export interface Judged {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly bar: Bar;
  /** Of the runs. */
  readonly spread?: Range;
}

/** A load with the servers that it is given to. */
export interface Workload {
  readonly name: string;
  readonly summary: string;
  /** Why it cannot run on this machine; undefined where it can. */
  readonly skipReason?: () => string | undefined;
  /** Starts the servers. */
  readonly prepare: (testbed: ServerTestbed, size: WorkloadSize) => Promise<Contest>;
  /** The promises about what was measured; those that need a server that is not here are left out. */
  readonly judge: (log: ScoreLog) => readonly Judged[];
}

/** The trial of a workload that has only one. */
export const ONLY_TRIAL = 'A';

/** At least `atLeast` times the queries per second of dnsmasq. */
export function fasterThanDnsmasq(
  log: ScoreLog,
  subject: string,
  atLeast: number,
  trial = ONLY_TRIAL,
): readonly Judged[] {
  if (!log.has(DNSMASQ)) return [];
  const spread = log.ratio('queriesPerSecond', subject, DNSMASQ, trial);
  const name = `queries/s, ${subject} / dnsmasq${nameOf(trial)}`;
  return [{ name, value: spread.median, unit: '×', bar: { atLeast }, spread }];
}

/** At most `atMost` times the CPU time per query of dnsmasq. */
function cheaperThanDnsmasq(
  log: ScoreLog,
  subject: string,
  atMost: number,
  trial = ONLY_TRIAL,
): readonly Judged[] {
  if (!log.has(DNSMASQ)) return [];
  const spread = log.ratio('cpuUs', subject, DNSMASQ, trial);
  const name = `CPU/query, ${subject} / dnsmasq${nameOf(trial)}`;
  return [{ name, value: spread.median, unit: '×', bar: { atMost }, spread }];
}

/** At least `atLeast` times the queries per CPU second of a peer; nothing where it is not here. */
export function perCpuSecond(
  log: ScoreLog,
  subject: string,
  peer: string,
  atLeast: number,
  trial = ONLY_TRIAL,
): readonly Judged[] {
  if (!log.has(peer)) return [];
  const spread = log.ratio('cpuUs', peer, subject, trial);
  const name = `queries per CPU second, ${subject} / ${peer}${nameOf(trial)}`;
  return [{ name, value: spread.median, unit: '×', bar: { atLeast }, spread }];
}

/** At most `atMost` times the CPU time per query of the echo. */
export function nearEcho(
  log: ScoreLog,
  subject: string,
  atMost: number,
  trial = ONLY_TRIAL,
): readonly Judged[] {
  const spread = log.timesEcho(subject, trial);
  const value = spread.median;
  const name = `CPU/query, ${subject} / echo${nameOf(trial)}`;
  return Number.isNaN(value) ? [] : [{ name, value, unit: '×', bar: { atMost }, spread }];
}

function nameOf(trial: string): string {
  return trial === ONLY_TRIAL ? '' : `, ${trial}`;
}

const CPU_RATIO = 0.75;
const P99_RATIO = 1.5;
/** Good enough in any case. */
const P99_MS = 0.5;
const SINGLE_RATIO = 1.2;

/** The promises about the time to an answer; none if it was not measured. */
export function soonAsDnsmasq(
  log: ScoreLog,
  subject: string,
  trial = ONLY_TRIAL,
): readonly Judged[] {
  if (!log.has(DNSMASQ)) return [];
  const p99 = log.range('p99Ms', subject, trial);
  const p99Ms = p99.median;
  const dnsmasqMs = log.median('p99Ms', DNSMASQ, trial);
  const singles = log.ratio('singleUs', subject, DNSMASQ, trial);
  const single = singles.median;
  if (Number.isNaN(p99Ms) || Number.isNaN(single)) return [];
  const atMost = Math.max(P99_MS, P99_RATIO * dnsmasqMs);
  return [
    {
      name: `p99, ${subject}${nameOf(trial)}`,
      value: p99Ms,
      unit: 'ms',
      bar: { atMost },
      spread: p99,
    },
    {
      name: `one at a time, ${subject} / dnsmasq${nameOf(trial)}`,
      value: single,
      unit: '×',
      bar: { atMost: SINGLE_RATIO },
      spread: singles,
    },
  ];
}

/** What is promised of a container that answers from memory. */
interface MemoryPromise {
  /** Queries per second, as a multiple of dnsmasq's. */
  readonly rate: number;
  /** CPU time per query, as a multiple of the echo's. */
  readonly echo: number;
}

/** All that is promised of a container that answers from memory. */
export function asPromised(
  log: ScoreLog,
  subject: string,
  { rate, echo }: MemoryPromise,
  trial = ONLY_TRIAL,
): readonly Judged[] {
  return [
    ...fasterThanDnsmasq(log, subject, rate, trial),
    ...cheaperThanDnsmasq(log, subject, CPU_RATIO, trial),
    ...nearEcho(log, subject, echo, trial),
    ...soonAsDnsmasq(log, subject, trial),
  ];
}
