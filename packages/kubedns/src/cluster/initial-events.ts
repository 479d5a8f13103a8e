import { ApiError } from '../errors.js';

/** How servers refuse a parameter that they know, and that they do not know (422, 400). */
const REFUSED: ReadonlySet<number> = new Set([400, 422]);
const MAX_FAILURES = 3;

/**
 * Whether a list is asked for as the beginning of a watch (`sendInitialEvents`), or as pages. A server
 * may refuse that, or know nothing of it and begin an ordinary watch, which never says that all was
 * told. So after any failure pages come next, and after a refusal or three failures always.
 */
export class InitialEvents {
  #isRefused = false;
  #failures = 0;
  #isPagesTurn = false;

  get isWorthTrying(): boolean {
    return !this.#isRefused && !this.#isPagesTurn;
  }

  /** The end of the initial events came. */
  noteEnd(): void {
    this.#failures = 0;
  }

  /** A list in pages was complete. */
  notePages(): void {
    this.#isPagesTurn = false;
  }

  /** Tells whether it was the initial events that failed, and not the server as a whole. */
  noteFailure(error: unknown): boolean {
    this.#isPagesTurn = true;
    if (error instanceof ApiError) {
      this.#isRefused = REFUSED.has(error.status);
      // Other answers (429, 500), and no connection, are to be met with a pause as ever.
      return this.#isRefused;
    }
    this.#isRefused = ++this.#failures >= MAX_FAILURES;
    return true;
  }
}
