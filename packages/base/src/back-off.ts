export interface BackOffOptions {
  /** The pause after the first failure. */
  readonly firstMs: number;
  readonly longestMs: number;
  /** The part of a pause that is drawn at random, from 0 to 1; half of it by default. */
  readonly randomPart?: number;
  /** Uniform in [0, 1); `Math.random` by default. */
  readonly random?: () => number;
}

/** The pauses between tries: doubled from the first to a longest one, partly random. */
export class BackOff {
  readonly #firstMs: number;
  readonly #longestMs: number;
  readonly #randomPart: number;
  readonly #random: () => number;
  #nextMs: number;

  constructor({ firstMs, longestMs, randomPart = 1 / 2, random = Math.random }: BackOffOptions) {
    this.#nextMs = this.#firstMs = firstMs;
    this.#longestMs = longestMs;
    this.#randomPart = randomPart;
    this.#random = random;
  }

  /** The pause in milliseconds before the next try; `longestMs` bounds it and the growth for this time. */
  next(longestMs = this.#longestMs): number {
    const pauseMs = Math.min(this.#nextMs, longestMs);
    this.#nextMs = Math.min(pauseMs * 2, longestMs);
    return pauseMs * (1 - this.#randomPart * (1 - this.#random()));
  }

  /** Called after a success: the next failure is the first. */
  reset(): void {
    this.#nextMs = this.#firstMs;
  }
}
