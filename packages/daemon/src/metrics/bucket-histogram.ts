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
