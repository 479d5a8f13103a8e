import { ApiError } from '../errors.js';

/** Statuses for a known parameter that is refused (422), and for an unknown one (400). */
const REFUSED: ReadonlySet<number> = new Set([400, 422]);
const MAX_FAILURES = 3;

/**
 * Whether to list as the beginning of a watch (`sendInitialEvents`), or in pages. A server may refuse that,
 * or ignore the parameter and begin an ordinary watch, which never sends the final bookmark. So pages
 * follow after any failure, and are used for ever after a refusal or three failures.
 */
export class InitialEvents {
  #isRefused = false;
  #failures = 0;
  #arePagesNext = false;

  get isWorthTrying(): boolean {
    return !this.#isRefused && !this.#arePagesNext;
  }

  /** The initial events were complete. */
  noteEnd(): void {
    this.#failures = 0;
  }

  /** A list in pages was complete. */
  notePages(): void {
    this.#arePagesNext = false;
  }

  /** Returns whether the initial events failed, and not the server as a whole. */
  noteFailure(error: unknown): boolean {
    this.#arePagesNext = true;
    if (error instanceof ApiError) {
      this.#isRefused = REFUSED.has(error.status);
      // Other statuses (429, 500) and connection errors need the ordinary pause.
      return this.#isRefused;
    }
    this.#isRefused = ++this.#failures >= MAX_FAILURES;
    return true;
  }
}
