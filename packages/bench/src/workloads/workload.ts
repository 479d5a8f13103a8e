import type { Bar } from '@kube-dns/testkit';
import type { Contest } from '../load/contest.js';
import type { ScoreLog } from '../load/score-log.js';
import { DNSMASQ, type ServerTestbed } from '../load/server-testbed.js';

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
  const value = log.ratio('queriesPerSecond', subject, DNSMASQ, trial).median;
  const name = `queries/s, ${subject} / dnsmasq${trial === ONLY_TRIAL ? '' : `, ${trial}`}`;
  return [{ name, value, unit: '×', bar: { atLeast } }];
}

/** At most `atMost` times the CPU time per query of dnsmasq. */
export function cheaperThanDnsmasq(
  log: ScoreLog,
  subject: string,
  atMost: number,
): readonly Judged[] {
  if (!log.has(DNSMASQ)) return [];
  const value = log.ratio('cpuUs', subject, DNSMASQ, ONLY_TRIAL).median;
  return [{ name: `CPU/query, ${subject} / dnsmasq`, value, unit: '×', bar: { atMost } }];
}

const CPU_RATIO = 0.75;
const P99_RATIO = 1.5;
/** Good enough in any case. */
const P99_MS = 0.5;
const SINGLE_RATIO = 1.2;

/** The promises about the time to an answer; none if it was not measured. */
export function soonAsDnsmasq(log: ScoreLog, subject: string): readonly Judged[] {
  if (!log.has(DNSMASQ)) return [];
  const p99Ms = log.median('p99Ms', subject, ONLY_TRIAL);
  const dnsmasqMs = log.median('p99Ms', DNSMASQ, ONLY_TRIAL);
  const single = log.ratio('singleUs', subject, DNSMASQ, ONLY_TRIAL).median;
  if (Number.isNaN(p99Ms) || Number.isNaN(single)) return [];
  const atMost = Math.max(P99_MS, P99_RATIO * dnsmasqMs);
  return [
    { name: `p99, ${subject}`, value: p99Ms, unit: 'ms', bar: { atMost } },
    {
      name: `one at a time, ${subject} / dnsmasq`,
      value: single,
      unit: '×',
      bar: { atMost: SINGLE_RATIO },
    },
  ];
}

/** All that is promised of a container that answers from memory. */
export function asPromised(log: ScoreLog, subject: string, atLeast: number): readonly Judged[] {
  return [
    ...fasterThanDnsmasq(log, subject, atLeast),
    ...cheaperThanDnsmasq(log, subject, CPU_RATIO),
    ...soonAsDnsmasq(log, subject),
  ];
}
