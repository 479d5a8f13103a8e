/** A summary of measurements; NaN where there are none. */
export interface Spread {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** A figure of several runs; NaN where no run has it. */
export interface Range {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

/** The smallest value that at least `part` of the sorted values do not exceed (nearest rank). */
function percentile(sorted: readonly number[], part: number): number {
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN;
}

function ascending(values: Iterable<number>): number[] {
  return [...values].sort((left, right) => left - right);
}

/** Median, 90th, 99th and 99.9th percentile, and maximum. */
export function spreadOf(values: Iterable<number>): Spread {
  const sorted = ascending(values);
  return {
    count: sorted.length,
    p50: percentile(sorted, 0.5),
    p90: percentile(sorted, 0.9),
    p99: percentile(sorted, 0.99),
    p999: percentile(sorted, 0.999),
    max: sorted.at(-1) ?? Number.NaN,
  };
}

/** The middle of the values, the mean of two; NaN where there are none. NaN among the values is left out. */
export function median(values: Iterable<number>): number {
  const sorted = ascending([...values].filter((value) => !Number.isNaN(value)));
  const middle = (sorted.length - 1) / 2;
  const lower = sorted[Math.floor(middle)] ?? Number.NaN;
  const upper = sorted[Math.ceil(middle)] ?? Number.NaN;
  return (lower + upper) / 2;
}

/** Minimum, median and maximum of the runs that have the figure; NaN is a run without it. */
export function rangeOf(values: Iterable<number>): Range {
  const sorted = ascending([...values].filter((value) => !Number.isNaN(value)));
  return {
    min: sorted[0] ?? Number.NaN,
    median: median(sorted),
    max: sorted.at(-1) ?? Number.NaN,
  };
}
