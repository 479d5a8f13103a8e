import { Counter, Gauge, type Metric, type Registry } from 'prom-client';

import type {
  LabelledHistogram,
  LabelledValue,
  MetricDescription,
  MetricFamily,
} from './metric-family.js';

/** Shows these metrics in a registry. */
export function observeFamilies(registry: Registry, families: Iterable<MetricFamily>): void {
  for (const family of families) {
    if (family.type === 'histogram') observedHistogram(registry, family, family.collect);
    else if (family.type === 'gauge') observedGauge(registry, family, family.collect);
    else observedCounter(registry, family, family.collect);
  }
}

/** A counter whose value is asked for at each scrape; the value must never fall. */
export function observedCounter(
  registry: Registry,
  description: MetricDescription,
  collect: () => number | Iterable<LabelledValue>,
): void {
  const counter = new Counter({
    ...prometheusDescription(registry, description),
    collect: () => {
      counter.reset();
      for (const { labels, value } of labelled(collect())) counter.inc({ ...labels }, value);
    },
  });
}

/** A gauge whose value is asked for at each scrape. */
export function observedGauge(
  registry: Registry,
  description: MetricDescription,
  collect: () => number | Iterable<LabelledValue>,
): void {
  const gauge = new Gauge({
    ...prometheusDescription(registry, description),
    collect: () => {
      gauge.reset();
      for (const { labels, value } of labelled(collect())) gauge.set({ ...labels }, value);
    },
  });
}

/** A histogram rendered from `BucketHistogram`s at each scrape. */
export function observedHistogram(
  registry: Registry,
  description: MetricDescription,
  histograms: () => Iterable<LabelledHistogram>,
): void {
  const { name, help } = description;
  const metric = {
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    get: () => ({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: [...histograms()].flatMap((one) => histogramValues(name, one)),
    }),
    reset: () => undefined,
  };
  // prom-client's own Histogram can only be observed into. A registry asks its metrics for nothing
  // but `name`, `get` and `reset`.
  registry.registerMetric(metric as unknown as Metric);
}

function prometheusDescription(registry: Registry, description: MetricDescription) {
  const { name, help, labelNames = [] } = description;
  return { name, help, labelNames: [...labelNames], registers: [registry] };
}

function labelled(values: number | Iterable<LabelledValue>): Iterable<LabelledValue> {
  return typeof values === 'number' ? [{ labels: {}, value: values }] : values;
}

function histogramValues(name: string, { labels, histogram }: LabelledHistogram) {
  const buckets = histogram.bounds.map((bound, index) => ({
    metricName: `${name}_bucket`,
    labels: { ...labels, le: String(bound) },
    value: histogram.cumulative(index),
  }));
  return [
    ...buckets,
    { metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: histogram.count },
    { metricName: `${name}_sum`, labels, value: histogram.sum },
    { metricName: `${name}_count`, labels, value: histogram.count },
  ];
}
