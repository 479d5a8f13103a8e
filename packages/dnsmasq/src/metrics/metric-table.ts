import type { ListenerMetrics, MetricDescription, NameServerMetrics } from '@kube-dns/daemon';

import type { SubscriberMetrics } from '@kube-dns/push';
import type { TelemetryMetrics } from '@kube-dns/telemetry';

/** The program, its cache, its forwarding and its configuration. dnsmasq itself has no metrics. */
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
    help: 'Queries that were answered with expired records (--stale, --use-stale-cache).',
  },
  staleReasons: {
    name: 'dnsmasq_stale_answers_by_reason_total',
    help: 'The same of --stale: no reply in time, no usable reply, or known not to come.',
    labelNames: ['reason'],
  },
  prefetches: {
    name: 'dnsmasq_prefetches_total',
    help: 'Answers that were asked for before they expired, by result (--prefetch).',
    labelNames: ['result'],
  },
  cacheSize: {
    name: 'dnsmasq_cache_max_records',
    help: 'Maximum of records in the cache (--cache-size).',
  },
  cacheRecords: {
    name: 'dnsmasq_cache_records',
    help: 'Records in the cache, including expired ones that no client has asked for since.',
  },
  cacheBytes: {
    name: 'dnsmasq_cache_bytes',
    help: 'Memory of the names and records in the cache.',
  },
  insertions: {
    name: 'dnsmasq_cache_insertions_total',
    help: 'Records that were stored in the cache.',
  },
  evictions: {
    name: 'dnsmasq_cache_evictions_total',
    help: 'Unexpired answers that were removed from the cache for lack of space: it is too small.',
  },
  upstreamJoined: {
    name: 'dnsmasq_upstream_joined_total',
    help: 'Queries that joined a question already in flight.',
  },
  upstreamInFlight: {
    name: 'dnsmasq_upstream_in_flight',
    help: 'Questions that wait for a name server.',
  },
  upstreamOverflows: {
    name: 'dnsmasq_upstream_overflows_total',
    help: 'Queries that were refused because too many were in flight (--dns-forward-max).',
  },
  upstreamRejected: {
    name: 'dnsmasq_upstream_cookie_rejects_total',
    help: 'Replies of name servers that were not taken because our cookie was missing.',
  },
  upstreamFailures: {
    name: 'dnsmasq_upstream_failures_total',
    help: 'Queries that got SERVFAIL because no name server answered in time.',
  },
  serverUp: {
    name: 'dnsmasq_upstream_server_up',
    help: 'Whether a name server is used: 0 while it does not reply.',
    labelNames: ['server'],
  },
  notifies: {
    name: 'dnsmasq_notifies_total',
    help: 'NOTIFY messages by result: accepted, or why they dropped nothing (--allow-notify).',
    labelNames: ['result'],
  },
  configInfo: {
    name: 'dnsmasq_config_info',
    help: 'Version of the active ConfigMap, empty without one; always 1.',
    labelNames: ['version'],
  },
  configGeneration: {
    name: 'dnsmasq_config_generation',
    help: 'ConfigMaps that were activated since the start, including the first.',
  },
  configApplied: {
    name: 'dnsmasq_config_applied_timestamp_seconds',
    help: 'When the active ConfigMap was applied, in seconds since the epoch; 0 without one.',
  },
  configRejected: {
    name: 'dnsmasq_config_rejected_total',
    help: 'ConfigMaps that could not be read or were refused.',
  },
  unexpectedErrors: {
    name: 'dnsmasq_unexpected_errors_total',
    help: 'Uncaught errors; the program continued.',
  },
} as const satisfies Record<string, MetricDescription>;

/** By server that tells changes, or did. */
export const SUBSCRIPTION_METRICS = {
  live: {
    name: 'dnsmasq_subscription_live',
    help: 'Whether a server tells the changes of a zone: 1, and its answers are kept until they change.',
    labelNames: ['server', 'zone'],
  },
  messageAge: {
    name: 'dnsmasq_subscription_message_age_seconds',
    help: 'Time since the last message of a live subscription; there is one every 2 s at least.',
    labelNames: ['server'],
  },
  kept: {
    name: 'dnsmasq_subscription_kept_answers',
    help: 'Cached answers that stay until their names change.',
    labelNames: ['server'],
  },
  dropped: {
    name: 'dnsmasq_subscription_dropped_answers_total',
    help: 'Cached answers that were dropped because their names changed.',
    labelNames: ['server'],
  },
  events: {
    name: 'dnsmasq_subscription_events_total',
    help: 'Subscriptions that started or were lost, and names that changed.',
    labelNames: ['server', 'event'],
  },
  flushes: {
    name: 'dnsmasq_subscription_flushes_total',
    help: 'How often all answers of the zones were dropped, by reason.',
    labelNames: ['server', 'reason'],
  },
} as const satisfies Record<string, MetricDescription>;

/** Those who subscribe to what servers tell. */
export const SUBSCRIBER_METRICS = {
  subscribers: {
    name: 'dnsmasq_subscribers',
    help: 'Caches that are told which names change.',
  },
  subscribersBehind: {
    name: 'dnsmasq_subscribers_behind',
    help: 'Publisher that read too slowly and are told nothing until they have read the rest.',
  },
  subscriptionLag: {
    name: 'dnsmasq_subscribers_lag_seconds',
    help: 'Time from what a server tells until subscribers are told, or until a slow one is.',
  },
  subscriberNames: {
    name: 'dnsmasq_subscribers_names_total',
    help: 'Names that changed and were told to subscribers.',
  },
  subscriberFlushes: {
    name: 'dnsmasq_subscribers_flushes_total',
    help: 'How often subscribers were told that any name may have changed, by reason.',
    labelNames: ['reason'],
  },
  subscribersDropped: {
    name: 'dnsmasq_subscribers_dropped_total',
    help: 'Publisher that were disconnected because they did not read or sent nothing.',
  },
} as const satisfies SubscriberMetrics;

/** By server that is configured now, `ADDRESS#PORT`. */
export const UPSTREAM_METRICS = {
  queries: {
    name: 'dnsmasq_upstream_server_queries_total',
    help: 'Questions that were sent to a name server, including retransmissions.',
    labelNames: ['server'],
  },
  latency: {
    name: 'dnsmasq_upstream_server_latency_seconds',
    help: 'Time until the reply of a name server.',
    labelNames: ['server'],
  },
  failures: {
    name: 'dnsmasq_upstream_server_failures_total',
    help: 'Questions that a name server did not answer, by reason.',
    labelNames: ['server', 'reason'],
  },
  connections: {
    name: 'dnsmasq_upstream_server_connections',
    help: 'Open connections to an encrypted name server.',
    labelNames: ['server'],
  },
  handshakes: {
    name: 'dnsmasq_upstream_server_handshakes_total',
    help: 'TLS handshakes with an encrypted name server.',
    labelNames: ['server'],
  },
  certificateEnd: {
    name: 'dnsmasq_upstream_server_certificate_end_timestamp_seconds',
    help: 'When the certificate of an encrypted name server ends; 0 before one was accepted.',
    labelNames: ['server'],
  },
} as const satisfies NameServerMetrics;

/** All addresses of the DNS port together. */
export const LISTENER_METRICS = {
  messages: {
    name: 'dnsmasq_messages_total',
    help: 'Messages received, good or bad, by protocol.',
    labelNames: ['protocol'],
  },
  answers: {
    name: 'dnsmasq_answers_total',
    help: 'Answers sent, by rcode.',
    labelNames: ['rcode'],
  },
  refusedMessages: {
    name: 'dnsmasq_refused_messages_total',
    help: 'Messages that were not answered as queries, by reason.',
    labelNames: ['reason'],
  },
  truncated: {
    name: 'dnsmasq_truncated_answers_total',
    help: 'Answers that were truncated to the size that the client accepts.',
  },
  cookies: {
    name: 'dnsmasq_cookies_total',
    help: 'Queries with a COOKIE option, by what their server cookie was.',
    labelNames: ['result'],
  },
  answerFailures: {
    name: 'dnsmasq_answer_failures_total',
    help: 'Questions that could not be answered because of a defect; the client got SERVFAIL.',
  },
  sendErrors: {
    name: 'dnsmasq_send_errors_total',
    help: 'Answers that the system did not accept for sending.',
  },
  tcpConnections: {
    name: 'dnsmasq_tcp_connections_total',
    help: 'TCP connections, by how they were handled.',
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

/** Answers by source, the query log and dnstap. */
export const TELEMETRY_METRICS = {
  answersBySource: {
    name: 'dnsmasq_answers_by_source_total',
    help: 'Queries by where their answers came from; none: they got no answer.',
    labelNames: ['source'],
  },
  slowAnswers: {
    name: 'dnsmasq_slow_answers_total',
    help: 'Answers that took a second or longer, or as long as slow= of --query-log says.',
  },
  queryLogLines: {
    name: 'dnsmasq_query_log_lines_total',
    help: 'Lines that the query log has written (--query-log).',
  },
  queryLogDropped: {
    name: 'dnsmasq_query_log_dropped_lines_total',
    help: 'Lines of the query log that were not written because stdout was read too slowly.',
  },
  dnstapMessages: {
    name: 'dnsmasq_dnstap_messages_total',
    help: 'Messages of dnstap (--dnstap) that its reader got, and that were dropped.',
    labelNames: ['result'],
  },
} as const satisfies TelemetryMetrics;
