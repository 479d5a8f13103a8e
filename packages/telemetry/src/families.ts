import { counter, type MetricDescription, type MetricFamily } from '@kube-dns/daemon';
import { SOURCE_NAMES } from '@kube-dns/transport';
import type { Telemetry } from './telemetry.js';

/** How a program names and describes what its Telemetry counts. */
export interface TelemetryMetrics {
  /** By `source`. */
  readonly answersBySource: MetricDescription;
  readonly slowAnswers: MetricDescription;
  readonly queryLogLines: MetricDescription;
  readonly queryLogDropped: MetricDescription;
  /** By `result`: written, dropped. */
  readonly dnstapMessages: MetricDescription;
}

/** What a Telemetry counts; every source is there from the start. */
export function telemetryFamilies(
  metrics: TelemetryMetrics,
  telemetry: () => Telemetry,
): MetricFamily[] {
  return [
    counter(metrics.answersBySource, () =>
      SOURCE_NAMES.map((source, i) => ({ labels: { source }, value: telemetry().bySource[i]! })),
    ),
    counter(metrics.slowAnswers, () => telemetry().slow),
    counter(metrics.queryLogLines, () => telemetry().queryLog.written),
    counter(metrics.queryLogDropped, () => telemetry().queryLog.dropped),
    counter(metrics.dnstapMessages, () => {
      const { written, dropped } = telemetry().dnstapMessages;
      return [
        { labels: { result: 'written' }, value: written },
        { labels: { result: 'dropped' }, value: dropped },
      ];
    }),
  ];
}
