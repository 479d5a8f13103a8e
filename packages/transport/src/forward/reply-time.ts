/** Weights of a new value, as TCP has them (RFC 6298 section 2). */
const MEAN_SHARE = 1 / 8;
const DEVIATION_SHARE = 1 / 4;

/** How long a server takes for its replies. */
export class ReplyTime {
  #meanMs = -1;
  #deviationMs = 0;

  /** A reply took so long. */
  note(ms: number): void {
    if (this.#meanMs < 0) {
      this.#meanMs = ms;
      this.#deviationMs = ms / 2;
      return;
    }
    const error = ms - this.#meanMs;
    this.#meanMs += error * MEAN_SHARE;
    this.#deviationMs += (Math.abs(error) - this.#deviationMs) * DEVIATION_SHARE;
  }

  /** The mean of the last ones, in milliseconds; negative when there was none. */
  get meanMs(): number {
    return this.#meanMs;
  }

  /** Whether there was one. */
  get isKnown(): boolean {
    return this.#meanMs >= 0;
  }

  /** A reply that takes longer is late for this server. */
  get limitMs(): number {
    return 2 * this.#meanMs + 4 * this.#deviationMs;
  }
}
