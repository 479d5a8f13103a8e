import {
  type BucketHistogram,
  counter,
  gauge,
  histogram,
  type MetricDescription,
  type MetricFamily,
} from '@kube-dns/daemon';

/** The names of the metrics of subscribers. */
export interface SubscriberMetrics {
  readonly subscribers: MetricDescription;
  readonly subscribersBehind: MetricDescription;
  readonly subscriptionLag: MetricDescription;
  readonly subscriberNames: MetricDescription;
  readonly subscriberFlushes: MetricDescription;
  readonly subscribersDropped: MetricDescription;
}

/** What is counted of subscribers. */
export interface SubscriberCounts {
  readonly count: number;
  readonly behind: number;
  readonly dropped: number;
  readonly news: {
    readonly serial: number;
    readonly names: number;
    readonly lag: BucketHistogram;
    readonly flushes: Readonly<Record<string, number>>;
  };
}

/** The metrics of who is told which names change. */
export function subscriberFamilies(
  metrics: SubscriberMetrics,
  subscribers: () => SubscriberCounts,
): MetricFamily[] {
  return [
    gauge(metrics.subscribers, () => subscribers().count),
    gauge(metrics.subscribersBehind, () => subscribers().behind),
    histogram(metrics.subscriptionLag, () => [{ labels: {}, histogram: subscribers().news.lag }]),
    counter(metrics.subscriberNames, () => subscribers().news.names),
    counter(metrics.subscriberFlushes, () =>
      Object.entries(subscribers().news.flushes).map(([reason, value]) => ({
        labels: { reason },
        value,
      })),
    ),
    counter(metrics.subscribersDropped, () => subscribers().dropped),
  ];
}
