import { ApiError } from '../errors.js';
import { Backoff } from './backoff.js';
import { restartReason } from './restart-reason.js';
import type { WatchPace } from './watch-pace.js';

export interface RetryPausesOptions {
  readonly pace: Pick<WatchPace, 'stableMs' | 'firstPauseMs'>;
  readonly random: () => number;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

/**
 * The pauses between the tries of one resource: none after a watch that worked, because servers end watches
 * regularly; growing ones while tries fail. A watch worked when it lasted or brought a change, but only one
 * in `stableMs` counts, so that a server that ends each watch immediately is not asked in a tight loop.
 */
export class RetryPauses {
  readonly #stableMs: number;
  readonly #now: () => number;
  readonly #backoff: Backoff;
  #openSinceMs = Infinity;
  #hasChange = false;
  #lastSuccessMs = -Infinity;
  #mayListNow = true;

  constructor({ pace, random, now = () => performance.now() }: RetryPausesOptions) {
    this.#stableMs = pace.stableMs;
    this.#now = now;
    this.#backoff = new Backoff(random, pace.firstPauseMs);
  }

  /** The watch is open, and its initial events are complete. */
  noteOpen(): void {
    this.#openSinceMs = this.#now();
  }

  /** The open watch brought a version that was not known. */
  noteChange(): void {
    this.#hasChange = true;
  }

  /** The watch ended, or could not be opened. */
  noteEnd(): void {
    const nowMs = this.#now();
    const hasWorked = this.#hasChange || nowMs - this.#openSinceMs >= this.#stableMs;
    this.#openSinceMs = Infinity;
    this.#hasChange = false;
    if (!hasWorked || nowMs - this.#lastSuccessMs < this.#stableMs) return;
    this.#lastSuccessMs = nowMs;
    this.#mayListNow = true;
    this.#backoff.reset();
  }

  /** The pause in ms after the end of a watch, or after this error. */
  next(error?: unknown): number {
    const askedMs = error instanceof ApiError ? error.retryAfterMs : 0;
    // The server is well and only forgot the version: the list that follows is no repetition.
    if (this.#mayListNow && askedMs === 0 && restartReason(error) === 'gone') {
      this.#mayListNow = false;
      return 0;
    }
    return this.#backoff.next(askedMs);
  }
}
