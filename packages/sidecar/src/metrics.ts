import { observedCounter, observedHistogram, type Registry } from '@kube-dns/daemon';

import type { Probe } from './probe/probe.js';
import type { StatisticsPoll } from './statistics/statistics-poll.js';
import type { Statistic } from './statistics/statistic.js';

/** Metric name by statistic. All are counters, the size as well: prometheus-to-sd knows them as such. */
const DNSMASQ_METRICS: readonly (readonly [name: string, statistic: Statistic, help: string])[] = [
  ['hits', 'hits', 'Number of DNS cache hits (from start of process)'],
  ['misses', 'misses', 'Number of DNS cache misses (from start of process)'],
  ['evictions', 'evictions', 'Counter of DNS cache evictions (from start of process)'],
  ['insertions', 'insertions', 'Counter of DNS cache insertions (from start of process)'],
  ['max_size', 'cachesize', 'Maximum size of the DNS cache'],
];

/** The metrics of dnsmasq's statistics, under the original's names: no labels, no `_total`. */
export function observeStatistics(
  registry: Registry,
  namespace: string,
  poll: StatisticsPoll,
): void {
  for (const [name, statistic, help] of DNSMASQ_METRICS) {
    const description = { name: metricName(namespace, 'dnsmasq', name), help };
    observedCounter(registry, description, () => poll.value(statistic));
  }
  observedCounter(
    registry,
    {
      name: metricName(namespace, 'dnsmasq', 'errors'),
      help: 'Number of polls of the statistics that failed (from start of process)',
    },
    () => poll.errors,
  );
}

/** The metrics of one probe; its label is part of their names. */
export function observeProbe(registry: Registry, namespace: string, probe: Probe): void {
  const { label } = probe.spec;
  observedHistogram(
    registry,
    {
      name: metricName(namespace, 'probe', `${label}_latency_ms`),
      help: `Latency of the successful probes of ${label}, in milliseconds`,
    },
    () => [{ labels: {}, histogram: probe.latencyMs }],
  );
  observedCounter(
    registry,
    {
      name: metricName(namespace, 'probe', `${label}_errors`),
      help: `Number of failed probes of ${label} (from start of process)`,
    },
    () => probe.errors,
  );
}

function metricName(namespace: string, subsystem: string, name: string): string {
  return `${namespace === '' ? '' : `${namespace}_`}${subsystem}_${name}`;
}
