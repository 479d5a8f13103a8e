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
export type MetricFamily = {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
} & (
  | { readonly type: 'counter' | 'gauge'; readonly collect: CollectValues }
  | { readonly type: 'histogram'; readonly collect: CollectHistograms }
);

/** The names of the labels, and the function that reads the values with them. */
interface Labelled<T> {
  readonly labelNames: readonly string[];
  readonly collect: () => Iterable<T>;
}

/** Values with labels, each written out. */
export function labelled<T extends LabelledValue | LabelledHistogram>(
  labelNames: readonly string[],
  collect: () => Iterable<T>,
): Labelled<T> {
  return { labelNames, collect };
}

type Values = Readonly<Record<string, number>>;

/** One value for each value of the label. */
export function by(
  label: string,
  values: () => Iterable<readonly [string, number]>,
): Labelled<LabelledValue> {
  const collect = () =>
    Array.from(values(), ([key, value]) => ({ labels: { [label]: key }, value }));
  return { labelNames: [label], collect };
}

/** The same; a key is the value of the label. */
export function byKey(label: string, values: () => Values): Labelled<LabelledValue> {
  return by(label, () => Object.entries(values()));
}

/** Values by two labels: for each value of the first label those by the second one. */
export function byBoth(
  labelNames: readonly [string, string],
  values: () => Iterable<readonly [string, Values]>,
): Labelled<LabelledValue> {
  const [one, other] = labelNames;
  const collect = () =>
    Array.from(values(), ([key, inner]) =>
      Object.entries(inner).map(([second, value]) => ({
        labels: { [one]: key, [other]: second },
        value,
      })),
    ).flat();
  return { labelNames, collect };
}

/**
 * Declares the metrics whose names begin with one prefix: what a mechanism needs to declare its families for any
 * program. A name is without the prefix.
 */
export interface MetricPrefix {
  /** A metric whose values must never fall. */
  readonly counter: DeclareValues;
  /** A metric whose values may rise and fall. */
  readonly gauge: DeclareValues;
  /** A metric that informs by its labels; the value is always 1. */
  readonly info: (
    name: string,
    help: string,
    labelNames: readonly string[],
    labels: () => Readonly<Record<string, string>>,
  ) => MetricFamily;
  /** A metric that counts values by size. */
  readonly histogram: (
    name: string,
    help: string,
    histograms: Labelled<LabelledHistogram> | (() => BucketHistogram),
  ) => MetricFamily;
}
type DeclareValues = (
  name: string,
  help: string,
  values: CollectValues | Labelled<LabelledValue>,
) => MetricFamily;

/**
 * The names begin with `prefix_`, or with nothing for an empty prefix. `texts` are the help texts, by name without the
 * prefix, that a program words in its own way.
 */
export function metricPrefix(
  prefix: string,
  texts: Readonly<Record<string, string>> = {},
): MetricPrefix {
  const about = (name: string, help: string) => ({
    name: prefix === '' ? name : `${prefix}_${name}`,
    help: texts[name] ?? help,
  });
  const values =
    (type: 'counter' | 'gauge'): DeclareValues =>
    (name, help, read) =>
      typeof read === 'function'
        ? { ...about(name, help), type, collect: read }
        : { ...about(name, help), type, ...read };
  return {
    counter: values('counter'),
    gauge: values('gauge'),
    info: (name, help, labelNames, labels) => ({
      ...about(name, help),
      type: 'gauge',
      labelNames,
      collect: () => [{ labels: labels(), value: 1 }],
    }),
    histogram: (name, help, read) =>
      typeof read === 'function'
        ? {
            ...about(name, help),
            type: 'histogram',
            collect: () => [{ labels: {}, histogram: read() }],
          }
        : { ...about(name, help), type: 'histogram', ...read },
  };
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

/**
 * What CoreDNS has, too, of the metrics that several programs have under their prefix; `here` are the labels that
 * CoreDNS adds to those of a server (coredns plugin/metrics, forward and reload).
 */
export function corednsRenames(prefix: string, here: Labels): MetricRename[] {
  return [
    { from: `${prefix}_build_info`, to: 'coredns_build_info' },
    { from: `${prefix}_unexpected_errors_total`, to: 'coredns_panics_total' },
    {
      from: `${prefix}_messages_total`,
      to: 'coredns_dns_requests_total',
      labels: { protocol: 'proto' },
      constant: here,
    },
    { from: `${prefix}_answers_total`, to: 'coredns_dns_responses_total', constant: here },
    {
      from: `${prefix}_upstream_overflows_total`,
      to: 'coredns_forward_max_concurrent_rejects_total',
    },
    {
      from: `${prefix}_upstream_server_latency_seconds`,
      to: 'coredns_proxy_request_duration_seconds',
      labels: { server: 'to' },
      constant: { proxy_name: 'forward' },
    },
    { from: `${prefix}_config_rejected_total`, to: 'coredns_reload_failed_total' },
  ];
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
