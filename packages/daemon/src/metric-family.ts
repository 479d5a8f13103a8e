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

/**
 * A metric as plain data: what it is called, and where its values are read at each scrape. Whoever has
 * none but these needs no metrics library until somebody scrapes; a counter's value must never fall.
 */
export type MetricFamily = MetricDescription &
  (
    | {
        readonly type: 'counter' | 'gauge';
        readonly collect: () => number | Iterable<LabelledValue>;
      }
    | { readonly type: 'histogram'; readonly collect: () => Iterable<LabelledHistogram> }
  );
