import type { FaultOutcome, FleetOutcome } from './fleet.js';
import type { FleetPlan } from './fleet-plan.js';
import type { Histogram } from './histogram.js';

/** A figure, and what is aimed at for a fleet; '' for none. */
type Row = readonly [what: string, value: string, goal: string];

/** The outcome as a table. */
export function describeFleet(plan: FleetPlan, seconds: number, outcome: FleetOutcome): string {
  const { calm, use, herd } = outcome;
  const { window, firstSecond } = herd;
  const perSecond = (count: number) => Math.round(count / seconds).toLocaleString('en');
  const rows: Row[] = [
    ['nodes with a live subscription', percent(outcome.subscribedNodes), ''],
    ['answers that are pinned, of those given, of those cached', `${percent(calm.pinned / calm.answers)}, ${percent(outcome.coverage)}`, '≥ 99 %'], // prettier-ignore
    ['answers from the cache', percent(calm.hits / calm.answers), ''],
    ['freshness: from a change at the API server until a cache has dropped it', quantiles(calm.freshness), 'p99 ≤ 1,000 ms'], // prettier-ignore
    ['answers that do not know a change, and for how long', `${percent(calm.staleness.count / calm.answers)}, ${quantiles(calm.staleness)}`, ''], // prettier-ignore
    ['core use of kubedns, of dnsmasq, of the busiest dnsmasq', [use.kubedns, use.dnsmasq, use.busiestDnsmasq].map(percent).join(', '), '≤ 100 %'], // prettier-ignore
    ['core use of a node-cache, of the busiest that publishes', [use.nodeCache, use.busiestRelay].map(percent).join(', '), ''], // prettier-ignore
    ['events of the API server a second, to all kubedns', perSecond(plan.changesPerSecond * plan.pods * seconds), ''], // prettier-ignore
    ['messages a second of all servers', perSecond(calm.messages), ''],
    ['subscribers of the process that has most', outcome.mostSubscribers.toLocaleString('en'), '≤ 6,000'], // prettier-ignore
    ['connections a second', (calm.connections / seconds).toFixed(1), '0'],
    ['a question waits at dnsmasq', quantiles(calm.waits), ''],
    ['longest queue of a process', `${outcome.longestQueue} tasks`, ''],
    ['the fullest pod is killed: subscriptions that end', herd.lost.toLocaleString('en'), ''],
    ['connections in the first second; refused by a dead pod', `${firstSecond.connections}; ${window.refused}`, ''], // prettier-ignore
    ['until as many nodes are subscribed again', herd.againSeconds === undefined ? 'not within 15 s' : `${herd.againSeconds.toFixed(1)} s`, ''], // prettier-ignore
    ['nodes that dropped all answers', String(herd.flushes), '0'],
    ['questions to pods in the second before, in the first second', `${Math.round(herd.questionsBefore)}, ${firstSecond.questions}`, ''], // prettier-ignore
    ['answers that are pinned in 15 s', percent(window.pinned / window.answers), ''],
    ['questions to the dead pod, asked again', String(window.unanswered), '0'],
    ['longest queue of a process, a question waits', `${herd.longestQueue} tasks, ${quantiles(window.waits)}`, ''], // prettier-ignore
  ];
  if (plan.isCrowd === true)
    rows.push(['from the first to the last subscriber', quantiles(outcome.spreads), '']);
  const lines = rows.map((row) => `| ${row.join(' | ')} |`);
  return ['| Figure | Value | Goal |', '| --- | --- | --- |', ...lines].join('\n');
}

/** The outcome of a run with faults as lines. */
export function describeFaultRun({ window, violation, ...outcome }: FaultOutcome): string {
  const verdict = violation === undefined ? 'right' : violation.message;
  return (
    `${verdict}\n${outcome.events.toLocaleString('en')} events, ${outcome.virtualSeconds.toFixed(0)} virtual seconds, ` +
    `${outcome.faults} faults, ${outcome.changes.toLocaleString('en')} changes, ${window.answers.toLocaleString('en')} answers judged; ` +
    `pinned ${percent(window.pinned / window.answers)}, at the end ${percent(outcome.coverage)}; ` +
    `not knowing a change ${percent(window.staleness.count / window.answers)}: ${quantiles(window.staleness)}; ` +
    `sent again ${window.unanswered.toLocaleString('en')}`
  );
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** Of microseconds. */
function quantiles(times: Histogram): string {
  if (times.count === 0) return 'none';
  const shown = [0.5, 0.9, 0.99].map((share) => ms(times.quantile(share)));
  return `p50 ${shown[0]}, p90 ${shown[1]}, p99 ${shown[2]}, max ${ms(times.max)} ms`;
}

function ms(us: number): string {
  return (us / 1_000).toFixed(us < 10_000 ? 1 : 0);
}
