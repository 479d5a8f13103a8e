import { type MetricFamily, type MetricRename, renamedFamilies } from '@kube-dns/daemon';

/**
 * The metrics that CoreDNS also has, under its names and labels (coredns plugin/metrics, cache, forward and
 * reload), so that one dashboard shows both. A label that we do not count by is left out.
 */
export function corednsFamilies(families: readonly MetricFamily[], port: number): MetricFamily[] {
  const server = `dns://:${port}`;
  const here = { server, zone: '.', view: '' };
  const cached = { server, zones: '.', view: '' };
  const renames: readonly MetricRename[] = [
    { from: 'dnsmasq_build_info', to: 'coredns_build_info' },
    { from: 'dnsmasq_unexpected_errors_total', to: 'coredns_panics_total' },
    {
      from: 'dnsmasq_messages_total',
      to: 'coredns_dns_requests_total',
      labels: { protocol: 'proto' },
      constant: here,
    },
    { from: 'dnsmasq_answers_total', to: 'coredns_dns_responses_total', constant: here },
    { from: 'dnsmasq_cache_records', to: 'coredns_cache_entries', constant: cached },
    { from: 'dnsmasq_hits_total', to: 'coredns_cache_hits_total', constant: cached },
    { from: 'dnsmasq_misses_total', to: 'coredns_cache_misses_total', constant: cached },
    {
      from: 'dnsmasq_cache_evictions_total',
      to: 'coredns_cache_evictions_total',
      constant: cached,
    },
    {
      from: 'dnsmasq_stale_answers_total',
      to: 'coredns_cache_served_stale_total',
      constant: cached,
    },
    {
      from: 'dnsmasq_upstream_overflows_total',
      to: 'coredns_forward_max_concurrent_rejects_total',
    },
    {
      from: 'dnsmasq_upstream_server_latency_seconds',
      to: 'coredns_proxy_request_duration_seconds',
      labels: { server: 'to' },
      constant: { proxy_name: 'forward' },
    },
    { from: 'dnsmasq_config_rejected_total', to: 'coredns_reload_failed_total' },
  ];
  return renamedFamilies(families, renames);
}
