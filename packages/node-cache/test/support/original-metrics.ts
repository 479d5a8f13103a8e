const ZONE = ['server', 'zone', 'view'];
const CACHE = ['server', 'zones', 'view'];
const PROXY = ['proxy_name', 'to'];

/** The metrics of the original and its plugins, each with the names of its labels. */
export const ORIGINAL_METRICS: Readonly<Record<string, readonly string[]>> = {
  coredns_build_info: ['version', 'revision', 'goversion'],
  coredns_cache_entries: [...CACHE, 'type'],
  coredns_cache_hits_total: [...CACHE, 'type'],
  coredns_cache_misses_total: CACHE,
  coredns_cache_requests_total: CACHE,
  coredns_dns_do_requests_total: ZONE,
  coredns_dns_request_duration_seconds: ZONE,
  coredns_dns_request_size_bytes: [...ZONE, 'proto'],
  coredns_dns_requests_total: [...ZONE, 'proto', 'family', 'type'],
  coredns_dns_response_size_bytes: [...ZONE, 'proto'],
  coredns_dns_responses_total: [...ZONE, 'rcode', 'plugin'],
  coredns_forward_healthcheck_broken_total: [],
  coredns_forward_max_concurrent_rejects_total: [],
  coredns_health_request_duration_seconds: [],
  coredns_health_request_failures_total: [],
  coredns_hosts_reload_timestamp_seconds: [],
  coredns_nodecache_setup_errors_total: ['errortype'],
  coredns_panics_total: [],
  coredns_plugin_enabled: [...ZONE, 'name'],
  coredns_proxy_conn_cache_hits_total: [...PROXY, 'proto'],
  coredns_proxy_conn_cache_misses_total: [...PROXY, 'proto'],
  coredns_proxy_request_duration_seconds: [...PROXY, 'rcode'],
  coredns_reload_failed_total: [],
};

const SAMPLE = /^(coredns_\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? \S+$/gm;

/** The metrics of CoreDNS that a page has values of, each with the names of its labels in order. */
export function labelsByMetric(page: string): Readonly<Record<string, readonly string[]>> {
  const found = [...page.matchAll(SAMPLE)].map(([, name = '', labels = '']) => {
    const names = [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label);
    return [name, names.filter((label) => label !== 'le').sort()] as const;
  });
  return Object.fromEntries(found);
}

/** The series that a page has more than once, for which Prometheus refuses all of it. */
export function seriesTwice(page: string): readonly string[] {
  const series = page
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.slice(0, line.lastIndexOf(' ')));
  return series.filter((each, at) => series.indexOf(each) !== at);
}
