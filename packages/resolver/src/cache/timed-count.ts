/** How far in the future, in seconds, an end may be: a power of two. */
const SECONDS = 4_096;

/**
 * How many of some things have not ended, where each ends at a known time: without a look at any of them. They are
 * counted by the second in which they end; what has ended is subtracted when the count is used next.
 *
 *     ended ──▶ │ 0 │ 0 │ 3 │ 0 │ 7 │ …   4,096 seconds, used again in turn
 *                 now ▲
 */
export class TimedCount {
  readonly #ending = new Uint32Array(SECONDS);
  #count = 0;
  /** The whole second up to which what has ended is subtracted. */
  #second = 0;

  /** Counts one more, which ends at `endSeconds`: after `now`, and less than 4,095 s after it. Both are of one clock. */
  add(endSeconds: number, now: number): void {
    this.#subtractEnded(now);
    this.#ending[secondOf(endSeconds)]!++;
    this.#count++;
  }

  /** One that was added with this end is gone; nothing happens if it has ended. */
  remove(endSeconds: number): void {
    if (Math.ceil(endSeconds) <= this.#second) return;
    this.#ending[secondOf(endSeconds)]!--;
    this.#count--;
  }

  /** How many have not ended; one counts to the end of its last second. */
  at(now: number): number {
    this.#subtractEnded(now);
    return this.#count;
  }

  clear(): void {
    this.#ending.fill(0);
    this.#count = 0;
  }

  #subtractEnded(now: number): void {
    const second = Math.floor(now);
    // All of them, if it was not used for so long.
    const first = Math.max(this.#second + 1, second - SECONDS + 1);
    for (let each = first; each <= second && this.#count > 0; each++) {
      const at = each & (SECONDS - 1);
      this.#count -= this.#ending[at]!;
      this.#ending[at] = 0;
    }
    if (second > this.#second) this.#second = second;
  }
}

function secondOf(endSeconds: number): number {
  return Math.ceil(endSeconds) & (SECONDS - 1);
}
