/**
 * Counts observations per bucket in typed arrays; observing allocates nothing.
 *
 *     bounds:   0.25   0.5    1
 *     counts: [ ≤0.25 | ≤0.5 | ≤1 | above ]    not cumulative; rendering adds them up
 */
export class BucketHistogram {
  readonly bounds: readonly number[];
  /** Made with the first observation: most of many servers are never asked. */
  #counts: Float64Array | undefined;
  #sum = 0;
  #count = 0;

  /** `bounds` are the upper ends, ascending, without infinity. */
  constructor(bounds: readonly number[]) {
    if (bounds.some((bound, index) => !(bound > (bounds[index - 1] ?? -Infinity)))) {
      throw new RangeError('histogram bounds must ascend');
    }
    this.bounds = bounds;
  }

  /** Counts one value in the first bucket whose bound is not below it; not-a-number is ignored. */
  observe(value: number): void {
    if (Number.isNaN(value)) return;
    let low = 0;
    let high = this.bounds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (value <= this.bounds[middle]!) high = middle;
      else low = middle + 1;
    }
    this.#counts ??= new Float64Array(this.bounds.length + 1);
    this.#counts[low]! += 1;
    this.#sum += value;
    this.#count++;
  }

  /** Adds what another histogram with the same bounds has counted. */
  add(other: BucketHistogram): void {
    const counts = (this.#counts ??= new Float64Array(this.bounds.length + 1));
    other.#counts?.forEach((count, bucket) => (counts[bucket]! += count));
    this.#sum += other.#sum;
    this.#count += other.#count;
  }

  get sum(): number {
    return this.#sum;
  }

  get count(): number {
    return this.#count;
  }

  /** How many observations were at most `bounds[index]`. */
  cumulative(index: number): number {
    let total = 0;
    for (let bucket = 0; bucket <= index; bucket++) total += this.#counts?.[bucket] ?? 0;
    return total;
  }
}

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

/** One metric under another name. */
export interface MetricRename {
  readonly from: string;
  readonly to: string;
  /** The new name of each label that changes its name. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Labels with a constant value that are added. */
  readonly constant?: Readonly<Record<string, string>>;
}

type Labels = Readonly<Record<string, string>>;

/**
 * The same values once more, under the names and labels of another program. Throws for a name that no
 * family has: with a wrong table the program does not start.
 */
export function renamedFamilies(
  families: readonly MetricFamily[],
  renames: readonly MetricRename[],
): MetricFamily[] {
  return renames.map((rename) => {
    const family = families.find(({ name }) => name === rename.from);
    if (family === undefined) throw new Error(`no metric ${rename.from} to be renamed`);
    return renamed(family, rename);
  });
}

function renamed(
  family: MetricFamily,
  { to, labels = {}, constant = {} }: MetricRename,
): MetricFamily {
  const relabel = (own: Labels): Labels => {
    const pairs = Object.entries(own).map(([key, value]) => [labels[key] ?? key, value] as const);
    return { ...constant, ...Object.fromEntries(pairs) };
  };
  const labelNames = [
    ...Object.keys(constant),
    ...(family.labelNames ?? []).map((label) => labels[label] ?? label),
  ];
  if (family.type === 'histogram') {
    const collect = (): LabelledHistogram[] =>
      Array.from(family.collect(), (each) => ({ ...each, labels: relabel(each.labels) }));
    return { ...family, name: to, labelNames, collect };
  }
  const collect = (): LabelledValue[] => {
    const values = family.collect();
    if (typeof values === 'number') return [{ labels: constant, value: values }];
    return Array.from(values, ({ labels: own, value }) => ({ labels: relabel(own), value }));
  };
  return { ...family, name: to, labelNames, collect };
}
