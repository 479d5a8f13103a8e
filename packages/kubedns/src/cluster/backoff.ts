const MAX_MS = 30_000;
/** Limit of the pause that a server requests: a wrong clock there must not stop us for days. */
const MAX_ASKED_MS = 60_000;

/**
 * Pauses between tries: a base doubled from the first to 30 s, of which half is random. The first try after
 * a success comes immediately.
 */
export class Backoff {
  readonly #random: () => number;
  readonly #firstMs: number;
  #nextMs: number;

  constructor(random: () => number, firstMs: number) {
    this.#random = random;
    this.#nextMs = this.#firstMs = firstMs;
  }

  /** The pause before the next try in ms, at least as long as the server requested (up to a minute). */
  next(askedMs = 0): number {
    const base = this.#nextMs;
    this.#nextMs = base === 0 ? this.#firstMs : Math.min(base * 2, MAX_MS);
    return Math.max(Math.min(askedMs, MAX_ASKED_MS), base / 2 + (this.#random() * base) / 2);
  }

  /** Called after a success. */
  reset(): void {
    this.#nextMs = 0;
  }
}
