import type { ListenerMetrics, MetricDescription, NameServerMetrics } from '@kube-dns/daemon';

/** Upper ends in seconds (skydns metrics.go). */
export const DURATION_BOUNDS = [
  0.001, 0.003, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
] as const;

const PAGE_BYTES = 4_096;
/** Upper ends in bytes (skydns metrics.go). */
export const SIZE_BOUNDS: readonly number[] = [
  0,
  512,
  1_024,
  1_500,
  2_048,
  ...Array.from({ length: 16 }, (_, i) => (i + 1) * PAGE_BYTES),
];

/** Upper ends in seconds of the time from an object's event to its record being served. */
export const EVENT_TO_SERVED_BOUNDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
] as const;

/** skydns' metrics; `<namespace>_<subsystem>_` comes before the names. Names and texts are a contract. */
export const SKYDNS_METRICS = {
  requests: {
    name: 'dns_request_count_total',
    help: 'Counter of DNS requests made.',
    labelNames: ['system'],
  },
  durations: {
    name: 'dns_request_duration_seconds',
    help: 'Histogram of the time (in seconds) each request took to resolve.',
    labelNames: ['system'],
  },
  sizes: {
    name: 'dns_response_size_bytes',
    help: 'Size of the returns response in bytes.',
    labelNames: ['system'],
  },
  errors: {
    name: 'dns_error_count_total',
    help: 'Counter of DNS requests resulting in an error.',
    labelNames: ['cause', 'system'],
  },
  cacheMisses: {
    name: 'dns_cachemiss_count_total',
    help: 'Counter of DNS requests that result in a cache miss.',
    labelNames: ['cache'],
  },
} as const satisfies Record<string, MetricDescription>;

/** Metrics that the original does not have. */
export const OWN_METRICS = {
  buildInfo: {
    name: 'kubedns_build_info',
    help: 'The version that runs; always 1.',
    labelNames: ['version'],
  },
  ready: {
    name: 'kubedns_ready',
    help: '1 while /readiness says 200, else 0.',
  },
  records: {
    name: 'kubedns_records',
    help: 'Records of the names of services and of addresses.',
    labelNames: ['type'],
  },
  eventToServed: {
    name: 'kubedns_event_to_served_seconds',
    help: 'Time from the event of an object to its record being served.',
  },
  objects: {
    name: 'kubedns_objects',
    help: 'Objects of the API that are known, by resource.',
    labelNames: ['resource'],
  },
  lastEventAge: {
    name: 'kubedns_last_event_age_seconds',
    help: 'Time since the API server last said something of a resource.',
    labelNames: ['resource'],
  },
  relists: {
    name: 'kubedns_relists_total',
    help: 'Lists of a resource after the first one.',
    labelNames: ['resource'],
  },
  watchRestarts: {
    name: 'kubedns_watch_restarts_total',
    help: 'Watches that had to be started again, by resource and reason.',
    labelNames: ['resource', 'reason'],
  },
  rejectedObjects: {
    name: 'kubedns_rejected_objects_total',
    help: 'Objects that were left out because they could not be understood, by resource.',
    labelNames: ['resource'],
  },
  configInfo: {
    name: 'kubedns_config_info',
    help: 'Source and version of the configuration in force; always 1.',
    labelNames: ['source', 'version'],
  },
  configApplied: {
    name: 'kubedns_config_applied_timestamp_seconds',
    help: 'When the configuration in force was applied, since the epoch.',
  },
  configGeneration: {
    name: 'kubedns_config_generation',
    help: 'Configurations that were put in force since the start, the first included.',
  },
  configRejected: {
    name: 'kubedns_config_rejected_total',
    help: 'Configurations that could not be read or were refused.',
  },
  upstreamQueries: {
    name: 'kubedns_upstream_queries_total',
    help: 'Questions that were passed on to name servers.',
  },
  upstreamFailures: {
    name: 'kubedns_upstream_failures_total',
    help: 'Questions that no name server answered.',
  },
  upstreamOverflows: {
    name: 'kubedns_upstream_overflows_total',
    help: 'Questions that were refused because too many were under way.',
  },
  upstreamInFlight: {
    name: 'kubedns_upstream_in_flight',
    help: 'Questions that wait for a name server.',
  },
  unexpectedErrors: {
    name: 'kubedns_unexpected_errors_total',
    help: 'Errors that nobody caught; the program went on.',
  },
} as const satisfies Record<string, MetricDescription>;

/** Of the servers of stub domains and the default ones, `ADDRESS#PORT`. */
export const UPSTREAM_METRICS = {
  queries: {
    name: 'kubedns_upstream_server_queries_total',
    help: 'Questions that were sent to a name server, each time they were.',
    labelNames: ['server'],
  },
  latency: {
    name: 'kubedns_upstream_server_latency_seconds',
    help: 'Time until the reply of a name server.',
    labelNames: ['server'],
  },
  failures: {
    name: 'kubedns_upstream_server_failures_total',
    help: 'Questions to which a name server had no answer, by reason.',
    labelNames: ['server', 'reason'],
  },
} as const satisfies NameServerMetrics;

/** Of the DNS port. */
export const LISTENER_METRICS = {
  messages: {
    name: 'kubedns_messages_total',
    help: 'Messages that came, good or bad, by protocol.',
    labelNames: ['protocol'],
  },
  answers: {
    name: 'kubedns_answers_total',
    help: 'Answers that went out, by rcode.',
    labelNames: ['rcode'],
  },
  refusedMessages: {
    name: 'kubedns_refused_messages_total',
    help: 'Messages that were not answered as queries, by reason.',
    labelNames: ['reason'],
  },
  truncated: {
    name: 'kubedns_truncated_answers_total',
    help: 'Answers that were cut to what the client takes.',
  },
  answerFailures: {
    name: 'kubedns_answer_failures_total',
    help: 'Questions that could not be answered for a defect; the client got SERVFAIL.',
  },
  sendErrors: {
    name: 'kubedns_send_errors_total',
    help: 'Answers that the system did not take.',
  },
  tcpConnections: {
    name: 'kubedns_tcp_connections_total',
    help: 'TCP connections, by what became of them.',
    labelNames: ['event'],
  },
  openTcpConnections: {
    name: 'kubedns_tcp_connections_open',
    help: 'TCP connections that are open now.',
  },
  engine: {
    name: 'kubedns_udp_engine_info',
    help: 'How datagrams are moved; always 1.',
    labelNames: ['engine'],
  },
} as const satisfies ListenerMetrics;
