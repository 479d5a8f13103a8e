import { ApiError, StreamError } from '../errors.js';
import { Backoff } from './backoff.js';
import { needsList, restartReason } from './restart-reason.js';
import type { WatchPace } from './watch-pace.js';
import type { RestartReason } from './watch-statistics.js';

export interface RetryPausesOptions {
  readonly pace: Pick<WatchPace, 'stableMs' | 'firstPauseMs' | 'deniedPauseMs'>;
  readonly random: () => number;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

/** Limit of the pause that a server requests: a wrong clock there must not stop us for days. */
const MAX_ASKED_MS = 60_000;
/** Of that pause: clients that were refused at the same time do not return at the same time. */
const ASKED_JITTER = 0.1;
/** A server that is being restarted is away for less; until then it is found soon after its return. */
const SHORT_OUTAGE_MS = 60_000;
const SHORT_OUTAGE_PAUSE_MS = 500;
/** Of a longer one: a connection that is refused costs next to nothing. */
const LONG_OUTAGE_PAUSE_MS = 5_000;

/**
 * The pauses between the tries of one resource. None after a watch that worked, because servers end watches
 * regularly: it worked when it lasted or brought a change, but only one in `stableMs` counts, so that a server
 * that ends each watch immediately is not asked in a tight loop. An answer that says what to do is no failure:
 * a list follows at once when the version is gone, or the cluster another one, and a pause is as long as the
 * server requests. What fails has growing pauses; they stay short while there is no answer at all, above all for a minute.
 */
export class RetryPauses {
  readonly #pace: RetryPausesOptions['pace'];
  readonly #random: () => number;
  readonly #now: () => number;
  /** Of tries to which there was no answer. */
  readonly #absences: Backoff;
  /** Of all other tries that failed. */
  readonly #failures: Backoff;
  #absentSinceMs = Infinity;
  #openSinceMs = Infinity;
  #hasChange = false;
  #lastSuccessMs = -Infinity;
  #mayRetryNow = false;
  #mayListNow = true;

  constructor({ pace, random, now = () => performance.now() }: RetryPausesOptions) {
    this.#pace = pace;
    this.#random = random;
    this.#now = now;
    this.#absences = new Backoff(random, pace.firstPauseMs);
    this.#failures = new Backoff(random, pace.firstPauseMs);
  }

  /** The watch is open. */
  noteOpen(): void {
    this.#openSinceMs = this.#now();
  }

  /** The open watch brought a version that was not known. */
  noteChange(): void {
    this.#hasChange = true;
  }

  /** The watch ended, or could not be opened. Where a list must follow it has not worked, whatever it brought. */
  noteEnd(reason?: RestartReason): void {
    const nowMs = this.#now();
    const { stableMs } = this.#pace;
    const hasLasted = this.#hasChange || nowMs - this.#openSinceMs >= stableMs;
    const hasWorked = hasLasted && (reason === undefined || !needsList(reason));
    this.#openSinceMs = Infinity;
    this.#hasChange = false;
    if (!hasWorked || nowMs - this.#lastSuccessMs < stableMs) return;
    this.#lastSuccessMs = nowMs;
    this.#mayListNow = this.#mayRetryNow = true;
    this.#failures.reset();
  }

  /** The pause in ms after the end of a watch, or after this error. `isLasting`: it would fail again soon. */
  next(error?: unknown, isLasting = false): number {
    const pauseMs = this.#next(error);
    return isLasting ? Math.max(pauseMs, this.#pace.deniedPauseMs) : pauseMs;
  }

  #next(error: unknown): number {
    const nowMs = this.#now();
    const mayRetryNow = this.#mayRetryNow;
    this.#mayRetryNow = false;
    if (!isAbsence(error)) this.#endAbsence();
    const askedMs = error instanceof ApiError ? error.retryAfterMs : 0;
    if (askedMs > 0) {
      const boundedMs = Math.min(Math.max(askedMs, this.#pace.firstPauseMs), MAX_ASKED_MS);
      return boundedMs * (1 + this.#random() * ASKED_JITTER);
    }
    const reason = error === undefined ? 'closed' : restartReason(error);
    // The server is well and has only another history: the list that follows is no repetition.
    if (this.#mayListNow && (reason === 'gone' || reason === 'restored')) {
      this.#mayListNow = false;
      return 0;
    }
    if (mayRetryNow) return 0;
    if (!isAbsence(error)) return this.#failures.next();
    this.#absentSinceMs = Math.min(this.#absentSinceMs, nowMs);
    const isShort = nowMs - this.#absentSinceMs < SHORT_OUTAGE_MS;
    return this.#absences.next(isShort ? SHORT_OUTAGE_PAUSE_MS : LONG_OUTAGE_PAUSE_MS);
  }

  #endAbsence(): void {
    this.#absentSinceMs = Infinity;
    this.#absences.reset();
  }
}

/** Whether the server did not answer: it refused the connection, ended it before an answer, or was silent. */
function isAbsence(error: unknown): boolean {
  if (error instanceof ApiError) return error.status === 0;
  return error instanceof StreamError && error.reason === 'idle';
}
