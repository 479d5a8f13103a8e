/** Buckets for each factor of ten: 2.3 % apart. */
const BUCKETS = 100;

/** How often values came, in buckets that grow with them. */
export class Histogram {
  count = 0;
  max = 0;
  readonly #counts: number[] = [];

  /** A value of at least 0. */
  add(value: number): void {
    const bucket = value < 1 ? 0 : Math.round(Math.log10(value) * BUCKETS) + 1;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.count++;
    if (value > this.max) this.max = value;
  }

  /** The value that this share (0 to 1) does not exceed; 0 when there are none. */
  quantile(share: number): number {
    let left = Math.ceil(share * this.count);
    for (let bucket = 0; bucket < this.#counts.length; bucket++) {
      left -= this.#counts[bucket] ?? 0;
      if (left <= 0) return bucket === 0 ? 0 : Math.min(this.max, 10 ** ((bucket - 1) / BUCKETS));
    }
    return this.max;
  }
}
