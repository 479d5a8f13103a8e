import type { ListenerMetrics, MetricDescription, NameServerMetrics } from '@kube-dns/daemon';
import type { TelemetryMetrics } from '@kube-dns/telemetry';

/** Upper bounds in seconds (skydns metrics.go). */
export const DURATION_BOUNDS = [
  0.001, 0.003, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
] as const;

const PAGE_BYTES = 4_096;
/** Upper bounds in bytes (skydns metrics.go). */
export const SIZE_BOUNDS: readonly number[] = [
  0,
  512,
  1_024,
  1_500,
  2_048,
  ...Array.from({ length: 16 }, (_, i) => (i + 1) * PAGE_BYTES),
];

/** Upper bounds in seconds of the time from an object's event until its records are served. */
export const EVENT_TO_SERVED_BOUNDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
] as const;

/** The metrics of skydns; `<namespace>_<subsystem>_` precedes the names. Names and help texts are a contract. */
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
  subscribers: {
    name: 'kubedns_subscribers',
    help: 'Forwarders that are told which names change.',
  },
  subscribersBehind: {
    name: 'kubedns_subscribers_behind',
    help: 'Subscribers that read too slowly and are told nothing until they have read the rest.',
  },
  subscriptionLag: {
    name: 'kubedns_subscription_lag_seconds',
    help: 'Time from a change of the zone until subscribers are told, or until a slow one is.',
  },
  subscriberNames: {
    name: 'kubedns_subscription_names_total',
    help: 'Names that changed and were told to subscribers or by NOTIFY.',
  },
  subscriberFlushes: {
    name: 'kubedns_subscription_flushes_total',
    help: 'How often subscribers were told that any name may have changed, by reason.',
    labelNames: ['reason'],
  },
  subscribersDropped: {
    name: 'kubedns_subscribers_dropped_total',
    help: 'Subscribers that were disconnected because they did not read or sent nothing.',
  },
  notifySent: {
    name: 'kubedns_notify_sent_total',
    help: 'NOTIFY messages that were sent, including retransmissions (--notify).',
    labelNames: ['target'],
  },
  notifyResults: {
    name: 'kubedns_notify_results_total',
    help: 'Names that were told by NOTIFY: acknowledged, refused, or given up without a reply.',
    labelNames: ['target', 'result'],
  },
  ready: {
    name: 'kubedns_ready',
    help: '1 while /readiness answers 200, else 0.',
  },
  records: {
    name: 'kubedns_records',
    help: 'Records of the names of services and of addresses.',
    labelNames: ['type'],
  },
  wildcardQueries: {
    name: 'kubedns_wildcard_queries_total',
    help: 'Questions about names of the zone with a label *.',
  },
  eventToServed: {
    name: 'kubedns_event_to_served_seconds',
    help: 'Time from the event of an object until its records are served.',
  },
  objects: {
    name: 'kubedns_objects',
    help: 'Stored API objects, by resource.',
    labelNames: ['resource'],
  },
  lastEventAge: {
    name: 'kubedns_last_event_age_seconds',
    help: 'Time since the last event of a resource from the API server.',
    labelNames: ['resource'],
  },
  relists: {
    name: 'kubedns_relists_total',
    help: 'Lists of a resource after the first one.',
    labelNames: ['resource'],
  },
  watchRestarts: {
    name: 'kubedns_watch_restarts_total',
    help: 'Restarts of watches, by resource and reason.',
    labelNames: ['resource', 'reason'],
  },
  rejectedObjects: {
    name: 'kubedns_rejected_objects_total',
    help: 'Objects left out because they are not valid, by resource.',
    labelNames: ['resource'],
  },
  passedOver: {
    name: 'kubedns_watch_objects_passed_over_total',
    help: 'Objects passed over because they are too large to be read, by resource.',
    labelNames: ['resource'],
  },
  overLimit: {
    name: 'kubedns_watch_over_limit',
    help: '1 while objects of a resource are missing because they exceed --max-objects or --max-stored-bytes.',
    labelNames: ['resource'],
  },
  configInfo: {
    name: 'kubedns_config_info',
    help: 'Source and version of the active configuration; always 1.',
    labelNames: ['source', 'version'],
  },
  configApplied: {
    name: 'kubedns_config_applied_timestamp_seconds',
    help: 'When the active configuration was applied, in seconds since the epoch.',
  },
  configGeneration: {
    name: 'kubedns_config_generation',
    help: 'Configurations applied since the start, including the first.',
  },
  configRejected: {
    name: 'kubedns_config_rejected_total',
    help: 'Configurations that could not be read or were refused.',
  },
  upstreamQueries: {
    name: 'kubedns_upstream_queries_total',
    help: 'Questions forwarded to name servers.',
  },
  upstreamRejected: {
    name: 'kubedns_upstream_cookie_rejects_total',
    help: 'Replies of name servers that were not taken because our cookie was missing.',
  },
  upstreamFailures: {
    name: 'kubedns_upstream_failures_total',
    help: 'Questions that no name server answered.',
  },
  upstreamOverflows: {
    name: 'kubedns_upstream_overflows_total',
    help: 'Questions refused because too many were in flight.',
  },
  upstreamInFlight: {
    name: 'kubedns_upstream_in_flight',
    help: 'Questions in flight to name servers.',
  },
  stubServers: {
    name: 'kubedns_stub_domain_servers',
    help: 'Known name servers of a stub domain; 0 while none of its names is resolved.',
    labelNames: ['domain'],
  },
  unexpectedErrors: {
    name: 'kubedns_unexpected_errors_total',
    help: 'Uncaught errors; the program continued.',
  },
} as const satisfies Record<string, MetricDescription>;

/** The metrics of each upstream server, `ADDRESS#PORT`. */
export const UPSTREAM_METRICS = {
  queries: {
    name: 'kubedns_upstream_server_queries_total',
    help: 'Questions sent to a name server, retransmissions included.',
    labelNames: ['server'],
  },
  latency: {
    name: 'kubedns_upstream_server_latency_seconds',
    help: 'Time until the reply of a name server, in seconds.',
    labelNames: ['server'],
  },
  failures: {
    name: 'kubedns_upstream_server_failures_total',
    help: 'Questions without a usable reply from a name server, by reason.',
    labelNames: ['server', 'reason'],
  },
  connections: {
    name: 'kubedns_upstream_server_connections',
    help: 'Open connections to an encrypted name server.',
    labelNames: ['server'],
  },
  handshakes: {
    name: 'kubedns_upstream_server_handshakes_total',
    help: 'TLS handshakes with an encrypted name server.',
    labelNames: ['server'],
  },
  certificateEnd: {
    name: 'kubedns_upstream_server_certificate_end_timestamp_seconds',
    help: 'When the certificate of an encrypted name server ends; 0 before one was accepted.',
    labelNames: ['server'],
  },
} as const satisfies NameServerMetrics;

/** The metrics of the DNS port. */
export const LISTENER_METRICS = {
  messages: {
    name: 'kubedns_messages_total',
    help: 'Messages received, valid or not, by protocol.',
    labelNames: ['protocol'],
  },
  answers: {
    name: 'kubedns_answers_total',
    help: 'Answers sent, by rcode.',
    labelNames: ['rcode'],
  },
  refusedMessages: {
    name: 'kubedns_refused_messages_total',
    help: 'Messages not answered as queries, by reason.',
    labelNames: ['reason'],
  },
  truncated: {
    name: 'kubedns_truncated_answers_total',
    help: 'Answers truncated to the size that the client accepts.',
  },
  cookies: {
    name: 'kubedns_cookies_total',
    help: 'Queries with a COOKIE option, by what their server cookie was.',
    labelNames: ['result'],
  },
  answerFailures: {
    name: 'kubedns_answer_failures_total',
    help: 'Questions answered with SERVFAIL because of an internal error.',
  },
  sendErrors: {
    name: 'kubedns_send_errors_total',
    help: 'Answers that could not be sent.',
  },
  tcpConnections: {
    name: 'kubedns_tcp_connections_total',
    help: 'TCP connections, by event.',
    labelNames: ['event'],
  },
  openTcpConnections: {
    name: 'kubedns_tcp_connections_open',
    help: 'Open TCP connections.',
  },
  engine: {
    name: 'kubedns_udp_engine_info',
    help: 'The active UDP engine; always 1.',
    labelNames: ['engine'],
  },
} as const satisfies ListenerMetrics;

/** Answers by source, the query log and dnstap. */
export const TELEMETRY_METRICS = {
  answersBySource: {
    name: 'kubedns_answers_by_source_total',
    help: 'Queries by where their answers came from; none: they got no answer.',
    labelNames: ['source'],
  },
  slowAnswers: {
    name: 'kubedns_slow_answers_total',
    help: 'Answers that took a second or longer, or as long as slow= of --query-log says.',
  },
  queryLogLines: {
    name: 'kubedns_query_log_lines_total',
    help: 'Lines that the query log has written (--query-log).',
  },
  queryLogDropped: {
    name: 'kubedns_query_log_dropped_lines_total',
    help: 'Lines of the query log that were not written because stdout was read too slowly.',
  },
  dnstapMessages: {
    name: 'kubedns_dnstap_messages_total',
    help: 'Messages of dnstap (--dnstap) that its reader got, and that were dropped.',
    labelNames: ['result'],
  },
} as const satisfies TelemetryMetrics;
