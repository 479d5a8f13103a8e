/** Allows so many events a second on average, and as many at once as it is allowed to save up. */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #now: () => number;
  #tokens: number;
  #filledAtMs: number;

  /** `now` is in milliseconds and never falls; the process's clock unless given. */
  constructor(perSecond: number, burst: number, now = () => performance.now()) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#now = now;
    this.#tokens = burst;
    this.#filledAtMs = now();
  }

  /** Whether one more event is allowed now; it counts then. */
  take(): boolean {
    const nowMs = this.#now();
    const earned = ((nowMs - this.#filledAtMs) * this.#perSecond) / 1_000;
    this.#filledAtMs = nowMs;
    this.#tokens = Math.min(this.#tokens + earned, this.#burst);
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}
