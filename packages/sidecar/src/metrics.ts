import {
  counter,
  gauge,
  histogram,
  info,
  type LabelledValue,
  type MetricFamily,
  type ProgramFacts,
} from '@kube-dns/daemon';

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

/** Where the figures come from; each is read at a scrape. */
export interface MetricSources {
  /** The first part of the names (`--prometheus-namespace`). */
  readonly namespace: string;
  readonly facts: ProgramFacts;
  readonly poll: StatisticsPoll;
  readonly probes: readonly Probe[];
}

/** Every metric of the sidecar. */
export function metricFamilies({ namespace, facts, poll, probes }: MetricSources): MetricFamily[] {
  return [
    ...programFamilies(namespace, facts),
    ...statisticsFamilies(namespace, poll),
    ...probes.flatMap((probe) => probeFamilies(namespace, probe)),
  ];
}

/**
 * The metrics of dnsmasq's statistics, with the original's names, types and texts (kubernetes/dns
 * pkg/sidecar/metrics.go): no labels, no `_total`. The last two are our own.
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
      named('up', '1 while dnsmasq tells its statistics, 0 when the last poll of them failed.'),
      () => Number(poll.isUp),
    ),
    gauge(
      named('age_seconds', 'Time since dnsmasq last told its statistics; nothing before it did.'),
      () => ageSeconds(poll.ageMs()),
    ),
  ];
}

/**
 * The metrics of one probe, whose label is part of their names; the first two have the original's types
 * and texts (kubernetes/dns pkg/sidecar/dnsprobe.go), the others are our own.
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
    gauge(named('up', `1 while /healthcheck/${label} says 200, 0 while it says 503.`), () =>
      Number(probe.health().isOk),
    ),
    gauge(
      named('age_seconds', `Time since the last result of the probe ${label}; nothing before it.`),
      () => ageSeconds(probe.ageMs()),
    ),
  ];
}

/** The metrics of the sidecar itself, all of them our own. */
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
        help: 'Errors that nobody caught; the sidecar went on.',
      },
      unexpectedErrors,
    ),
  ];
}

/** What never happened has no age: there is no series then. */
function ageSeconds(ageMs: number | null): LabelledValue[] {
  return ageMs === null ? [] : [{ labels: {}, value: Math.max(0, ageMs) / 1_000 }];
}

function metricName(namespace: string, subsystem: string, name: string): string {
  return `${namespace === '' ? '' : `${namespace}_`}${subsystem}_${name}`;
}
