import {
  listenerFamilies,
  type MetricFamily,
  type MetricRename,
  nameServerFamilies,
  renamedFamilies,
} from '@kube-dns/daemon';
import type { QueryStatistics } from '../answer/query-statistics.js';
import type { MetricSources } from './own-metrics.js';
import { LISTENER_METRICS, OWN_METRICS, SKYDNS_METRICS, UPSTREAM_METRICS } from './metric-table.js';

/** Where the figures come from that CoreDNS has, too. */
export interface CorednsSources extends Pick<
  MetricSources,
  'version' | 'unexpectedErrors' | 'configuration' | 'forwarder' | 'upstreams' | 'listener'
> {
  readonly statistics: () => Pick<QueryStatistics, 'durations' | 'sizes'>;
  /** With a final dot. */
  readonly domain: string;
  readonly port: number;
}

/**
 * The figures that CoreDNS has, too, under its names and labels (coredns plugin/metrics, forward and
 * reload), so that one dashboard shows both. A label that we do not count by is left out, not made up.
 */
export function corednsFamilies(sources: CorednsSources): MetricFamily[] {
  const server = `dns://:${sources.port}`;
  const here = { server, view: '' };
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
      from: SKYDNS_METRICS.durations.name,
      to: 'coredns_dns_request_duration_seconds',
      constant: here,
    },
    { from: SKYDNS_METRICS.sizes.name, to: 'coredns_dns_response_size_bytes', constant: here },
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
  return renamedFamilies(ownFamilies(sources), renames);
}

function ownFamilies(sources: CorednsSources): MetricFamily[] {
  const { version, statistics, upstreams, listener, forwarder, configuration } = sources;
  // The systems of skydns are zones of CoreDNS.
  const zones = { auth: sources.domain, reverse: 'in-addr.arpa.', recursive: '.' } as const;
  const byZone = (histogramsOf: () => QueryStatistics['durations']) => () =>
    (['auth', 'reverse', 'recursive'] as const).map((system) => ({
      labels: { zone: zones[system] },
      histogram: histogramsOf()[system],
    }));
  return [
    {
      ...OWN_METRICS.buildInfo,
      type: 'gauge',
      collect: () => [{ labels: { version }, value: 1 }],
    },
    { ...OWN_METRICS.unexpectedErrors, type: 'counter', collect: sources.unexpectedErrors },
    {
      ...SKYDNS_METRICS.durations,
      type: 'histogram',
      labelNames: ['zone'],
      collect: byZone(() => statistics().durations),
    },
    {
      ...SKYDNS_METRICS.sizes,
      type: 'histogram',
      labelNames: ['zone'],
      collect: byZone(() => statistics().sizes),
    },
    { ...OWN_METRICS.upstreamOverflows, type: 'counter', collect: () => forwarder().overflows },
    { ...OWN_METRICS.configRejected, type: 'counter', collect: () => configuration.rejected },
    ...nameServerFamilies(UPSTREAM_METRICS, () => upstreams.entries()),
    ...listenerFamilies(LISTENER_METRICS, () => [listener() ?? []].flat()),
  ];
}
