import type { BucketHistogram } from './bucket-histogram.js';

/** A metric's name, description and label names. */
export interface MetricDescription {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
}

/** One value of a metric with labels. */
export interface LabelledValue {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** One histogram of a metric; `labels` is empty where there is only one. */
export interface LabelledHistogram {
  readonly labels: Readonly<Record<string, string>>;
  readonly histogram: BucketHistogram;
}

type CollectValues = () => number | Iterable<LabelledValue>;
type CollectHistograms = () => Iterable<LabelledHistogram>;

/**
 * A metric as plain data: its description, and the function that reads its values at each scrape. A
 * program needs no metrics library until the first scrape.
 */
export type MetricFamily = MetricDescription &
  (
    | { readonly type: 'counter' | 'gauge'; readonly collect: CollectValues }
    | { readonly type: 'histogram'; readonly collect: CollectHistograms }
  );

/** A metric whose values must never fall. */
export function counter(description: MetricDescription, collect: CollectValues): MetricFamily {
  return { ...description, type: 'counter', collect };
}

/** A metric whose values may rise and fall. */
export function gauge(description: MetricDescription, collect: CollectValues): MetricFamily {
  return { ...description, type: 'gauge', collect };
}

/** A metric that informs by its labels; the value is always 1. */
export function info(
  description: MetricDescription,
  labels: () => Readonly<Record<string, string>>,
): MetricFamily {
  return gauge(description, () => [{ labels: labels(), value: 1 }]);
}

/** A metric that counts values by size. */
export function histogram(
  description: MetricDescription,
  collect: CollectHistograms,
): MetricFamily {
  return { ...description, type: 'histogram', collect };
}

/** One labelled value per key; the key is the value of the label. */
export function labelledBy(
  label: string,
  values: Readonly<Record<string, number>>,
): LabelledValue[] {
  return Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value }));
}
