import type { Bar, Report } from '@kube-dns/testkit';
import { quietBar } from '../program-options.js';
import type { Attack } from './attack.js';
import { type HonestResult, IN_TIME_MS } from './honest-clients.js';
import {
  type AttackOutcome,
  type ContainerResult,
  MAX_DESCRIPTORS,
  SPARE_DESCRIPTORS,
} from './run-attack.js';

const MIB = 2 ** 20;
const PERCENT = 100;
const IN_TIME_BAR = 90;
/** Questions of one name and type that are in flight. */
const MAX_PAIRS = 4;
const MAX_DROPS_PER_SECOND = 100;
/** After an attack the median is as before, except for other load of the machine. */
const AFTER_FACTOR = 2;
const AFTER_SPARE_MS = 1;
/** dnsmasq asks for 4.5 s after the last client, waits for late replies 10 s at most, and closes the socket within a second. */
const LONGEST_SOCKET_SECONDS = 16;

function ms(value: number): string {
  return value.toFixed(value < 10 ? 2 : 0);
}

function percent(part: number): string {
  return `${(part * PERCENT).toFixed(1)} %`;
}

function mib(bytes: number): string {
  return (bytes / MIB).toFixed(0);
}

interface Judging {
  readonly before: HonestResult;
  readonly settleSeconds: number;
  readonly busy: boolean;
}

/** Adds the figures of an attack with their bars. */
export function addOutcome(
  report: Report,
  outcome: AttackOutcome,
  { before, settleSeconds, busy }: Judging,
): void {
  const { attack, did, under, after, containers } = outcome;
  const add = (what: string, ...rest: [number, string, Parameters<Report['add']>[3]]) =>
    report.add(`${attack.name}: ${what}`, ...rest);
  const quiet = <B extends Bar | number>(bar: B) => quietBar({ busy }, bar);
  const atLeast = quiet({ atLeast: IN_TIME_BAR });
  add(`honest queries answered within ${IN_TIME_MS} ms`, under.inTime * PERCENT, '%', atLeast);
  add('the same after it', after.inTime * PERCENT, '%', atLeast);
  const median = before.latencyMs.p50 * AFTER_FACTOR + AFTER_SPARE_MS;
  add('median latency after it', after.latencyMs.p50, 'ms', quiet(median));
  add('honest queries answered after it', after.answered, '', { atLeast: 1 });
  if (did.accepted !== undefined) {
    add('forged replies that were accepted', did.accepted, '', 0);
    if (did.pairs !== undefined) add('pairs of ID and port at a time', did.pairs, '', MAX_PAIRS);
    add('forged replies', did.guesses ?? Number.NaN, '', quiet({ atLeast: 1 }));
  }
  if (did.dropsPerSecond !== undefined) {
    add('messages that dropped answers, a second', did.dropsPerSecond, '', MAX_DROPS_PER_SECOND);
  }
  if (did.acceptedNotifies !== undefined) {
    add('NOTIFY accepted', did.acceptedNotifies, '', 0);
  }
  if (attack.counted !== undefined) {
    const count = containers[0]?.counters.count(attack.counted) ?? Number.NaN;
    add(`counted: ${attack.counted}`, count, '', quiet({ atLeast: 1 }));
  }
  for (const container of containers) {
    const { name, peakRssBytes, memoryLimitBytes, descriptors, counters } = container;
    add(`${name}: peak RSS`, peakRssBytes / MIB, 'MiB', quiet(memoryLimitBytes / MIB));
    add(`${name}: defects`, counters.defects, '', 0);
    add(`${name}: descriptors at the peak`, descriptors.peak, '', MAX_DESCRIPTORS);
    const spared = { atMost: descriptors.before + SPARE_DESCRIPTORS };
    const isSettled = settleSeconds >= LONGEST_SOCKET_SECONDS;
    add(
      `${name}: descriptors after it`,
      descriptors.after,
      '',
      isSettled ? quiet(spared) : undefined,
    );
  }
}

/** One row for each attack. */
export function addOutcomes(
  report: Report,
  outcomes: readonly AttackOutcome[],
  before: Readonly<Record<Attack['target'], HonestResult | undefined>>,
): void {
  for (const [target, calm] of Object.entries(before)) {
    if (calm === undefined) continue;
    const { p50, p99 } = calm.latencyMs;
    report.note(
      `Without an attack ${target} answers ${percent(calm.inTime)} within ${IN_TIME_MS} ms: ` +
        `p50 ${ms(p50)} ms, p99 ${ms(p99)} ms.`,
    );
  }
  const header = [
    'attack',
    'a second',
    'in all',
    `honest in ${IN_TIME_MS} ms`,
    'p50/p99 ms',
    'after',
    'TCP',
    'peak RSS MiB',
    'RSS before/after',
    'descriptors',
    'counted',
  ];
  const rows = outcomes.map(({ attack, did, under, after, containers }) => {
    const [own] = containers;
    const each = (text: (container: ContainerResult) => string) => containers.map(text).join('; ');
    return [
      attack.name,
      Math.round(did.perSecond).toLocaleString('en-US'),
      did.did,
      percent(under.inTime),
      `${ms(under.latencyMs.p50)}/${ms(under.latencyMs.p99)}`,
      `${ms(after.latencyMs.p50)}/${ms(after.latencyMs.p99)}`,
      percent(under.overTcp),
      each(
        ({ peakRssBytes, memoryLimitBytes }) => `${mib(peakRssBytes)} of ${mib(memoryLimitBytes)}`,
      ),
      each(({ rssBytes }) => `${mib(rssBytes.before)}/${mib(rssBytes.after)}`),
      each(({ descriptors: d }) => `${d.before}/${d.peak}/${d.after}`),
      own?.counters.toString() ?? '',
    ];
  });
  report.addSection({ title: 'Attacks', header, rows }, outcomes.map(resultOf));
  report.note('Of two figures the first is that of dnsmasq, the second that of kubedns.');
  report.note('Descriptors are the numbers before, at the peak, and after the attack.');
}

function resultOf({ attack, did, under, after, containers }: AttackOutcome): object {
  const { name, target, summary } = attack;
  const texts = containers.map(({ counters, ...rest }) => ({
    ...rest,
    counters: String(counters),
  }));
  return { name, target, summary, ...did, under, after, containers: texts };
}
