/** The longest pause of the tries of a resource. */
export const MAX_MS = 30_000;

/** Pauses between tries: a base doubled from the first to a longest one, of which half is random. */
export class Backoff {
  readonly #random: () => number;
  readonly #firstMs: number;
  #nextMs: number;

  constructor(random: () => number, firstMs: number) {
    this.#random = random;
    this.#nextMs = this.#firstMs = firstMs;
  }

  /** The pause before the next try in ms. */
  next(longestMs = MAX_MS): number {
    const base = Math.min(this.#nextMs, longestMs);
    this.#nextMs = Math.min(base * 2, longestMs);
    return base / 2 + (this.#random() * base) / 2;
  }

  /** Called after a success: the next failure is the first. */
  reset(): void {
    this.#nextMs = this.#firstMs;
  }
}
