import {
  counter,
  gauge,
  histogram,
  info,
  type LabelledValue,
  type MetricFamily,
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

/** All metrics of the sidecar. */
export function metricFamilies({ namespace, facts, poll, probes }: MetricSources): MetricFamily[] {
  return [
    ...programFamilies(namespace, facts),
    ...statisticsFamilies(namespace, poll),
    ...probes.flatMap((probe) => probeFamilies(namespace, probe)),
  ];
}

/**
 * The metrics of dnsmasq's statistics, with the original's names, types and texts (kubernetes/dns
 * pkg/sidecar/metrics.go): no labels, no `_total`. The original does not have those after `errors`.
 */
function statisticsFamilies(namespace: string, poll: StatisticsPoll): MetricFamily[] {
  const named = (name: string, help: string) => ({
    name: metricName(namespace, 'dnsmasq', name),
    help,
  });
  return [
    ...DNSMASQ_METRICS.map(([name, statistic, help]) =>
      counter(named(name, help), () => poll.value(statistic)),
    ),
    counter(
      named('errors', 'Number of errors that have occurred getting metrics'),
      () => poll.errors,
    ),
    gauge(
      named('up', '1 when the last poll of the statistics of dnsmasq succeeded, 0 when it failed.'),
      () => Number(poll.isUp),
    ),
    gauge(
      named('age_seconds', 'Time since the last successful poll; no sample before the first.'),
      () => ageSeconds(poll.ageMs()),
    ),
    gauge(
      named('subscriptions_live', 'Zones whose servers tell dnsmasq what changes in them.'),
      () => valueOf(poll.subscriptions?.live),
    ),
    gauge(
      named('subscriptions_down', 'Zones whose servers should tell dnsmasq that, and do not.'),
      () => valueOf(poll.subscriptions?.down),
    ),
  ];
}

/**
 * The metrics of one probe, whose label is part of their names; the first two have the original's types
 * and texts (kubernetes/dns pkg/sidecar/dnsprobe.go), which does not have the others.
 */
function probeFamilies(namespace: string, probe: Probe): MetricFamily[] {
  const { label } = probe.spec;
  const named = (name: string, help: string) => ({
    name: metricName(namespace, 'probe', `${label}_${name}`),
    help,
  });
  return [
    histogram(named('latency_ms', `Latency of the DNS probe request ${label}`), () => [
      { labels: {}, histogram: probe.latencyMs },
    ]),
    counter(named('errors', `Count of errors in name resolution of ${label}`), () => probe.errors),
    gauge(named('up', `1 while /healthcheck/${label} returns 200, 0 while it returns 503.`), () =>
      Number(probe.health().isOk),
    ),
    gauge(
      named(
        'age_seconds',
        `Time since the last result of the probe ${label}; no sample before the first.`,
      ),
      () => ageSeconds(probe.ageMs()),
    ),
  ];
}

/** The metrics of the sidecar itself; the original has none of them. */
function programFamilies(namespace: string, facts: ProgramFacts): MetricFamily[] {
  const { version, unexpectedErrors } = facts;
  return [
    info(
      {
        name: metricName(namespace, 'sidecar', 'build_info'),
        help: 'The version of the sidecar; always 1.',
        labelNames: ['version'],
      },
      () => ({ version }),
    ),
    counter(
      {
        name: metricName(namespace, 'sidecar', 'unexpected_errors_total'),
        help: 'Uncaught errors; the sidecar continued after them.',
      },
      unexpectedErrors,
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

function metricName(namespace: string, subsystem: string, name: string): string {
  return `${namespace === '' ? '' : `${namespace}_`}${subsystem}_${name}`;
}
