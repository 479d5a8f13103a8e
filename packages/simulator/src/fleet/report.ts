import type { FleetOutcome, FleetPlan } from './fleet.js';
import { Histogram } from './histogram.js';

/** A figure, and what is aimed at for a fleet; '' for none. */
type Row = readonly [what: string, value: string, goal: string];

/** The outcome as a table. */
export function describeFleet(plan: FleetPlan, outcome: FleetOutcome): string {
  const { calm, use, herd } = outcome;
  const { window } = herd;
  const rows: Row[] = [
    ['nodes with a live subscription', percent(outcome.subscribedNodes), ''],
    ['live subscriptions of a node, in the mean', outcome.subscriptions.toFixed(2), ''],
    ['answers that are pinned', percent(calm.pinned / calm.answers), '≥ 99 %'],
    ['answers with their TTL that another process announces changes of', percent(calm.besides / calm.answers), ''], // prettier-ignore
    ['answers from the cache', percent(calm.hits / calm.answers), ''],
    ['freshness: from a change at kubedns until a subscribed cache has dropped it', quantiles(calm.freshness), 'p99 ≤ 1,000 ms'], // prettier-ignore
    ['an answer that is neither', 'until its TTL ends: 30,000 ms', ''],
    ['core use of kubedns, of dnsmasq, of the busiest dnsmasq', [use.kubedns, use.dnsmasq, use.busiestDnsmasq].map(percent).join(', '), '≤ 100 %'], // prettier-ignore
    ['messages a second of all servers', Math.round(calm.messages / plan.seconds).toLocaleString('en'), ''], // prettier-ignore
    ['core use of a node-cache', percent(use.nodeCache), ''],
    ['a question waits at dnsmasq', quantiles(calm.waits), ''],
    ['longest queue of a process', `${outcome.longestQueue} tasks`, ''],
    ['connections a second, nodes that look for a process', (calm.connections / plan.seconds).toFixed(1), ''], // prettier-ignore
    ['a pod is killed: subscriptions that end', String(herd.lost), ''],
    ['connections in the first second, in 30 s; refused by a dead pod', `${herd.firstSecond}, ${window.connections}; ${window.refused}`, ''], // prettier-ignore
    ['until as many nodes are subscribed again', herd.againSeconds === undefined ? 'not within 30 s' : `${herd.againSeconds.toFixed(1)} s`, ''], // prettier-ignore
    ['answers that are pinned in these 30 s', percent(window.pinned / window.answers), ''],
    ['questions to the dead pod, asked again', String(window.unanswered), '0'],
    ['longest queue of a process, a question waits', `${herd.longestQueue} tasks, ${quantiles(window.waits)}`, ''], // prettier-ignore
  ];
  if (plan.isCrowd === true) {
    const spreads = new Histogram();
    for (const { firstUs, lastUs } of calm.arrivals.values()) spreads.add(lastUs - firstUs);
    rows.push(['from the first to the last subscriber', quantiles(spreads), '']);
  }
  const lines = rows.map((row) => `| ${row.join(' | ')} |`);
  return ['| Figure | Value | Goal |', '| --- | --- | --- |', ...lines].join('\n');
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
