const FIRST_MS = 500;
const MAX_MS = 30_000;
/** What a server asks for is obeyed up to here: a slip of its clock must not stop us for days. */
const MAX_ASKED_MS = 60_000;

/** Growing pauses between tries: doubled each time from 0.5 s to 30 s, then half of it at random. */
export class Backoff {
  readonly #random: () => number;
  readonly #firstMs: number;
  #nextMs: number;

  constructor(random: () => number = Math.random, firstMs = FIRST_MS) {
    this.#random = random;
    this.#nextMs = this.#firstMs = firstMs;
  }

  /** The pause before the next try in ms, no shorter than asked for (up to a minute). */
  next(askedMs = 0): number {
    const base = this.#nextMs;
    this.#nextMs = Math.min(base * 2, MAX_MS);
    return Math.max(Math.min(askedMs, MAX_ASKED_MS), base / 2 + (this.#random() * base) / 2);
  }

  /** Called after a success. */
  reset(): void {
    this.#nextMs = this.#firstMs;
  }
}
