/** Times are counted in steps of 0.1 µs. */
const STEPS_PER_MS = 10_000;
/** Each power of two of steps is cut into this many parts, so a value is known to 1.6 %. */
const PARTS = 64;
const PART_BITS = 6;
/** Up to 2^31 steps, which is 214 s. */
const BUCKETS = (32 - PART_BITS) * PARTS;
const MAX_STEPS = 0x7fff_ffff;

/** Percentiles of many times, in ms; NaN where there are none. */
export interface Percentiles {
  readonly count: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
}

/**
 * Times in buckets that become wider with the time: adding one allocates nothing.
 *
 *     0 1 2 … 63 │ 64 … 127 │ 128, 130 … 254 │ 256, 260 … 508 │ …
 */
export class LatencyHistogram {
  readonly #counts = new Float64Array(BUCKETS);
  #count = 0;
  #maxMs = Number.NaN;

  add(ms: number, count = 1): void {
    if (count === 0) return;
    const steps = Math.max(0, Math.min(MAX_STEPS, Math.round(ms * STEPS_PER_MS)));
    this.#counts[bucketOf(steps)]! += count;
    this.#count += count;
    if (!(ms <= this.#maxMs)) this.#maxMs = ms;
  }

  /** Takes in all times of another one. */
  addAll(other: LatencyHistogram): void {
    if (other.#count === 0) return;
    other.#counts.forEach((count, bucket) => (this.#counts[bucket]! += count));
    this.#count += other.#count;
    if (!(other.#maxMs <= this.#maxMs)) this.#maxMs = other.#maxMs;
  }

  percentiles(): Percentiles {
    const at = (part: number) => this.#percentileMs(part);
    return {
      count: this.#count,
      p50Ms: at(0.5),
      p90Ms: at(0.9),
      p99Ms: at(0.99),
      p999Ms: at(0.999),
      maxMs: this.#maxMs,
    };
  }

  /** The end of the bucket in which the time is that at least `part` of all do not exceed (nearest rank). */
  #percentileMs(part: number): number {
    let left = Math.ceil(part * this.#count);
    if (left === 0) return Number.NaN;
    let bucket = 0;
    while ((left -= this.#counts[bucket]!) > 0) bucket++;
    return Math.min(lastOf(bucket) / STEPS_PER_MS, this.#maxMs);
  }
}

function bucketOf(steps: number): number {
  if (steps < PARTS) return steps;
  const shift = 31 - Math.clz32(steps) - PART_BITS;
  return (shift + 1) * PARTS + ((steps >>> shift) & (PARTS - 1));
}

/** The largest number of steps that is in a bucket. */
function lastOf(bucket: number): number {
  if (bucket < PARTS) return bucket;
  const shift = Math.floor(bucket / PARTS) - 1;
  return (PARTS + (bucket % PARTS) + 1) * 2 ** shift - 1;
}
