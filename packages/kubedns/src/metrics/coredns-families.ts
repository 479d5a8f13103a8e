import { histogram, type MetricFamily, type MetricRename, renamedFamilies } from '@kube-dns/daemon';
import type { QueryStatistics } from '../answer/query-statistics.js';
import { LISTENER_METRICS, OWN_METRICS, SKYDNS_METRICS, UPSTREAM_METRICS } from './metric-table.js';

/** Facts for the labels of CoreDNS that our metrics do not have. */
export interface CorednsFacts {
  readonly statistics: () => Pick<QueryStatistics, 'durations' | 'sizes'>;
  /** With a final dot. */
  readonly domain: string;
  readonly port: number;
}

/**
 * The metrics that CoreDNS also has, under its names and labels (coredns plugin/metrics, forward and
 * reload), so that one dashboard shows both. A label that we do not count by is left out.
 */
export function corednsFamilies(
  families: readonly MetricFamily[],
  { statistics, domain, port }: CorednsFacts,
): MetricFamily[] {
  const here = { server: `dns://:${port}`, view: '' };
  const renames: readonly MetricRename[] = [
    { from: OWN_METRICS.buildInfo.name, to: 'coredns_build_info' },
    { from: OWN_METRICS.unexpectedErrors.name, to: 'coredns_panics_total' },
    {
      from: LISTENER_METRICS.messages.name,
      to: 'coredns_dns_requests_total',
      labels: { protocol: 'proto' },
      constant: here,
    },
    { from: LISTENER_METRICS.answers.name, to: 'coredns_dns_responses_total', constant: here },
    {
      from: OWN_METRICS.upstreamOverflows.name,
      to: 'coredns_forward_max_concurrent_rejects_total',
    },
    {
      from: UPSTREAM_METRICS.latency.name,
      to: 'coredns_proxy_request_duration_seconds',
      labels: { server: 'to' },
      constant: { proxy_name: 'forward' },
    },
    { from: OWN_METRICS.configRejected.name, to: 'coredns_reload_failed_total' },
  ];
  // A system of skydns is a zone of CoreDNS.
  const zones = { auth: domain, reverse: 'in-addr.arpa.', recursive: '.' } as const;
  const byZone = (histograms: QueryStatistics['durations']) =>
    (['auth', 'reverse', 'recursive'] as const).map((system) => ({
      labels: { ...here, zone: zones[system] },
      histogram: histograms[system],
    }));
  return [
    ...renamedFamilies(families, renames),
    histogram(
      {
        name: 'coredns_dns_request_duration_seconds',
        help: SKYDNS_METRICS.durations.help,
        labelNames: ['server', 'view', 'zone'],
      },
      () => byZone(statistics().durations),
    ),
    histogram(
      {
        name: 'coredns_dns_response_size_bytes',
        help: SKYDNS_METRICS.sizes.help,
        labelNames: ['server', 'view', 'zone'],
      },
      () => byZone(statistics().sizes),
    ),
  ];
}
