import {
  type LabelledValue,
  type MetricFamily,
  metricPrefix,
  programFamilies,
  type ProgramFacts,
} from '@kube-dns/daemon';

import type { Probe } from './probe.js';
import type { Statistic, StatisticsPoll } from './statistics.js';

/** Metric name by statistic. All are counters, also the size: prometheus-to-sd expects that. */
const DNSMASQ_METRICS: readonly (readonly [name: string, statistic: Statistic, help: string])[] = [
  ['hits', 'hits', 'Number of DNS cache hits (from start of process)'],
  ['misses', 'misses', 'Number of DNS cache misses (from start of process)'],
  ['evictions', 'evictions', 'Counter of DNS cache evictions (from start of process)'],
  ['insertions', 'insertions', 'Counter of DNS cache insertions (from start of process)'],
  ['max_size', 'cachesize', 'Maximum size of the DNS cache'],
];

/** The sources of the values; each is read at a scrape. */
export interface MetricSources {
  /** The first part of the names (`--prometheus-namespace`). */
  readonly namespace: string;
  readonly facts: ProgramFacts;
  readonly poll: StatisticsPoll;
  readonly probes: readonly Probe[];
}

/** All metrics of the sidecar; the original has none of its program. */
export function metricFamilies({ namespace, facts, poll, probes }: MetricSources): MetricFamily[] {
  // It may be empty: the names then start with the next part, as in the Go client.
  const prefix = (subsystem: string) =>
    namespace === '' ? subsystem : `${namespace}_${subsystem}`;
  const texts = {
    build_info: 'The version of the sidecar; always 1.',
    unexpected_errors_total: 'Uncaught errors; the sidecar continued after them.',
  };
  return [
    ...programFamilies(metricPrefix(prefix('sidecar'), texts), facts),
    ...statisticsFamilies(prefix('dnsmasq'), poll),
    ...probes.flatMap((probe) => probeFamilies(prefix(`probe_${probe.spec.label}`), probe)),
  ];
}

/**
 * The metrics of dnsmasq's statistics, with the original's names, types and texts (kubernetes/dns
 * pkg/sidecar/metrics.go): no labels, no `_total`. The original does not have those after `errors`.
 */
function statisticsFamilies(prefix: string, poll: StatisticsPoll): MetricFamily[] {
  const { counter, gauge } = metricPrefix(prefix);
  return [
    ...DNSMASQ_METRICS.map(([name, statistic, help]) =>
      counter(name, help, () => poll.value(statistic)),
    ),
    counter('errors', 'Number of errors that have occurred getting metrics', () => poll.errors),
    gauge(
      'up',
      '1 when the last poll of the statistics of dnsmasq succeeded, 0 when it failed.',
      () => Number(poll.isUp),
    ),
    gauge('age_seconds', 'Time since the last successful poll; no sample before the first.', () =>
      ageSeconds(poll.ageMs()),
    ),
    gauge('subscriptions_live', 'Zones whose servers announce their changes to dnsmasq.', () =>
      valueOf(poll.subscriptions?.live),
    ),
    gauge(
      'subscriptions_down',
      'Zones whose servers should announce their changes to dnsmasq, and do not.',
      () => valueOf(poll.subscriptions?.down),
    ),
  ];
}

/**
 * The metrics of one probe, whose label is part of their names; the first two have the original's types
 * and texts (kubernetes/dns pkg/sidecar/dnsprobe.go), which does not have the others.
 */
function probeFamilies(prefix: string, probe: Probe): MetricFamily[] {
  const { label } = probe.spec;
  const { counter, gauge, histogram } = metricPrefix(prefix);
  return [
    histogram('latency_ms', `Latency of the DNS probe request ${label}`, () => probe.latencyMs),
    counter('errors', `Count of errors in name resolution of ${label}`, () => probe.errors),
    gauge('up', `1 while /healthcheck/${label} returns 200, 0 while it returns 503.`, () =>
      Number(probe.health().isOk),
    ),
    gauge(
      'age_seconds',
      `Time since the last result of the probe ${label}; no sample before the first.`,
      () => ageSeconds(probe.ageMs()),
    ),
  ];
}

/** What never happened has no age: the metric has no sample then. */
function ageSeconds(ageMs: number | null): LabelledValue[] {
  return valueOf(ageMs === null ? undefined : Math.max(0, ageMs) / 1_000);
}

/** No sample for what is not known. */
function valueOf(value: number | undefined): LabelledValue[] {
  return value === undefined ? [] : [{ labels: {}, value }];
}
