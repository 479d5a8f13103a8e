import type { TelemetryMetrics } from '@kube-dns/telemetry';

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
