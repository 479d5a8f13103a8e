/** Sixteen steps to each doubling: a percentile is at most 4.5 % off. */
const STEPS = 16;
const FIRST_MICROSECONDS = 16;
const BUCKETS = 25 * STEPS;

/** One bar of a histogram: how many replies took at most `toMs`, and more than the bar before. */
export interface LatencyBar {
  readonly toMs: number;
  readonly count: number;
}

/** Reply times of one server, in exponential buckets: its size does not depend on their number. */
export class Latency {
  readonly #counts = new Uint32Array(BUCKETS);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(ms: number): void {
    const steps = Math.ceil(Math.log2((ms * 1000) / FIRST_MICROSECONDS) * STEPS);
    const bucket = Math.min(Math.max(steps, 0), BUCKETS - 1);
    this.#counts[bucket] = this.#counts[bucket]! + 1;
    this.#count++;
  }

  /** The time in milliseconds within which this part of the replies arrived; 0 without replies. */
  percentileMs(part: number): number {
    let left = Math.max(1, Math.ceil(this.#count * part));
    if (this.#count === 0) return 0;
    for (let bucket = 0; ; bucket++) {
      left -= this.#counts[bucket]!;
      if (left <= 0 || bucket === BUCKETS - 1) return limitMs(bucket);
    }
  }

  /** The whole distribution, a bar for each doubling, from the first that is not empty to the last. */
  bars(): LatencyBar[] {
    const bars: LatencyBar[] = [];
    for (let from = 0; from < BUCKETS; from += STEPS) {
      // The very first bucket also holds all faster replies.
      const group = this.#counts.subarray(from === 0 ? 0 : from + 1, from + STEPS + 1);
      bars.push({
        toMs: limitMs(from + STEPS),
        count: group.reduce((sum, count) => sum + count, 0),
      });
    }
    const first = bars.findIndex(({ count }) => count > 0);
    const last = bars.findLastIndex(({ count }) => count > 0);
    return first < 0 ? [] : bars.slice(first, last + 1);
  }
}

function limitMs(bucket: number): number {
  return (FIRST_MICROSECONDS * 2 ** (bucket / STEPS)) / 1000;
}
