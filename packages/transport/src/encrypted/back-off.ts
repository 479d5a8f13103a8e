const FIRST_MS = 100;
const MAX_MS = 10_000;
/** A connection in plain text costs the server next to nothing, and clients wait for it. */
export const PLAIN_MAX_MS = 200;
/** The pause is at least this part of its full length; the rest is drawn at random. */
const LEAST_PART = 1 / 2;

/** When a server may be connected to again: after 0.1 s, then twice as long each time, up to 10 s by default. */
export class BackOff {
  readonly #maxMs: number;
  #failures = 0;
  #endsAtMs = Number.NEGATIVE_INFINITY;

  /** `maxMs` is the longest pause; 10 s by default. */
  constructor(maxMs = MAX_MS) {
    this.#maxMs = maxMs;
  }

  /** A connection could not be opened, or was of no use. */
  fail(nowMs: number, random = Math.random()): void {
    const fullMs = Math.min(this.#maxMs, FIRST_MS * 2 ** this.#failures);
    this.#failures++;
    this.#endsAtMs = nowMs + fullMs * (LEAST_PART + (1 - LEAST_PART) * random);
  }

  /** The server has replied. */
  reset(): void {
    this.#failures = 0;
    this.#endsAtMs = Number.NEGATIVE_INFINITY;
  }

  isOver(nowMs: number): boolean {
    return nowMs >= this.#endsAtMs;
  }
}
