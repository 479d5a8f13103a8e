import type { ListenerMetrics, MetricDescription, NameServerMetrics } from '@kube-dns/daemon';

/** Of the program, its cache, its forwarding and its configuration. dnsmasq itself has no metrics. */
export const OWN_METRICS = {
  buildInfo: {
    name: 'dnsmasq_build_info',
    help: 'The version that runs; always 1.',
    labelNames: ['version'],
  },
  hits: {
    name: 'dnsmasq_hits_total',
    help: 'Queries over UDP that were answered without asking a name server (hits.bind).',
  },
  misses: {
    name: 'dnsmasq_misses_total',
    help: 'Queries over UDP for which a name server was asked (misses.bind).',
  },
  staleAnswers: {
    name: 'dnsmasq_stale_answers_total',
    help: 'Queries that were answered with records past their time (--use-stale-cache).',
  },
  cacheSize: {
    name: 'dnsmasq_cache_max_records',
    help: 'Records that the cache holds at most (--cache-size).',
  },
  cacheRecords: {
    name: 'dnsmasq_cache_records',
    help: 'Records in the cache, expired ones that nobody asked for included.',
  },
  cacheBytes: {
    name: 'dnsmasq_cache_bytes',
    help: 'Memory that the names and records in the cache take.',
  },
  insertions: {
    name: 'dnsmasq_cache_insertions_total',
    help: 'Records that went into the cache.',
  },
  evictions: {
    name: 'dnsmasq_cache_evictions_total',
    help: 'Answers that left the cache for room before their time: it is too small.',
  },
  upstreamJoined: {
    name: 'dnsmasq_upstream_joined_total',
    help: 'Queries that waited for an answer that somebody else had asked for already.',
  },
  upstreamInFlight: {
    name: 'dnsmasq_upstream_in_flight',
    help: 'Questions that wait for a name server.',
  },
  upstreamOverflows: {
    name: 'dnsmasq_upstream_overflows_total',
    help: 'Queries that were refused because too many were under way (--dns-forward-max).',
  },
  upstreamFailures: {
    name: 'dnsmasq_upstream_failures_total',
    help: 'Queries that got SERVFAIL because no name server answered in time.',
  },
  configInfo: {
    name: 'dnsmasq_config_info',
    help: 'Version of the ConfigMap in force, empty without one; always 1.',
    labelNames: ['version'],
  },
  configGeneration: {
    name: 'dnsmasq_config_generation',
    help: 'ConfigMaps that were put in force since the start, the first included.',
  },
  configApplied: {
    name: 'dnsmasq_config_applied_timestamp_seconds',
    help: 'When the ConfigMap in force was applied, since the epoch; 0 without one.',
  },
  configRejected: {
    name: 'dnsmasq_config_rejected_total',
    help: 'ConfigMaps that could not be read or were refused.',
  },
  unexpectedErrors: {
    name: 'dnsmasq_unexpected_errors_total',
    help: 'Errors that nobody caught; the program went on.',
  },
} as const satisfies Record<string, MetricDescription>;

/** Of the servers that are configured now, `ADDRESS#PORT`. */
export const UPSTREAM_METRICS = {
  queries: {
    name: 'dnsmasq_upstream_server_queries_total',
    help: 'Questions that were sent to a name server, each time they were.',
    labelNames: ['server'],
  },
  latency: {
    name: 'dnsmasq_upstream_server_latency_seconds',
    help: 'Time until the reply of a name server.',
    labelNames: ['server'],
  },
  failures: {
    name: 'dnsmasq_upstream_server_failures_total',
    help: 'Questions to which a name server had no answer, by reason.',
    labelNames: ['server', 'reason'],
  },
} as const satisfies NameServerMetrics;

/** Of all addresses of the DNS port together. */
export const LISTENER_METRICS = {
  messages: {
    name: 'dnsmasq_messages_total',
    help: 'Messages that came, good or bad, by protocol.',
    labelNames: ['protocol'],
  },
  answers: {
    name: 'dnsmasq_answers_total',
    help: 'Answers that went out, by rcode.',
    labelNames: ['rcode'],
  },
  refusedMessages: {
    name: 'dnsmasq_refused_messages_total',
    help: 'Messages that were not answered as queries, by reason.',
    labelNames: ['reason'],
  },
  truncated: {
    name: 'dnsmasq_truncated_answers_total',
    help: 'Answers that were cut to what the client takes.',
  },
  answerFailures: {
    name: 'dnsmasq_answer_failures_total',
    help: 'Questions that could not be answered for a defect; the client got SERVFAIL.',
  },
  sendErrors: {
    name: 'dnsmasq_send_errors_total',
    help: 'Answers that the system did not take.',
  },
  tcpConnections: {
    name: 'dnsmasq_tcp_connections_total',
    help: 'TCP connections, by what became of them.',
    labelNames: ['event'],
  },
  openTcpConnections: {
    name: 'dnsmasq_tcp_connections_open',
    help: 'TCP connections that are open now.',
  },
  engine: {
    name: 'dnsmasq_udp_engine_info',
    help: 'How datagrams are moved; always 1.',
    labelNames: ['engine'],
  },
} as const satisfies ListenerMetrics;
