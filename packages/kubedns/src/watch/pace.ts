import { BackOff } from '@kube-dns/base';
import { isHandshakeFailure } from '@kube-dns/daemon';
import { ApiError, StreamError } from '../errors.js';

/** Limits and pauses of a list/watch loop. */
export interface WatchPace {
  /** Items per page. A list is read as a stream; pages only reduce the load of the server. */
  readonly pageSize: number;
  /** A list is aborted when it makes no progress for this long. */
  readonly listStallMs: number;
  /** After this long without contact a list follows, not a watch from the last version. */
  readonly relistAwayMs: number;
  /** The requested duration of a watch, up to doubled at random (as client-go's reflector does). */
  readonly watchSeconds: number;
  /** A server that has not ended the watch this long after its duration counts as dead. */
  readonly overdueMs: number;
  /** After this long without a byte of a watch, the server is asked whether it is there. */
  readonly aliveMs: number;
  /** And after this long whether it has something that the watch does not bring. */
  readonly silentMs: number;
  /** The time limit of a probe. */
  readonly probeLimitMs: number;
  /** Requested checks of the server's history are at least that far apart; without an answer this doubles. */
  readonly recheckMs: number;
  /** A watch that lasts this long has worked; no more than one success in this time is counted. */
  readonly stableMs: number;
  /** The pause after the first failed try; further ones double it. */
  readonly firstPauseMs: number;
  /** The pause after a resource was denied, or exceeded a limit: that changes seldom. */
  readonly deniedPauseMs: number;
}

export const DEFAULT_PACE: WatchPace = {
  // Some 15 MB of slices, 1 MB compressed. Ten times client-go's: with 60,000 objects that is a fifth less CPU time
  // here and in the server, in the same memory, and far fewer times in which both wait.
  pageSize: 5_000,
  listStallMs: 20_000,
  // Enough for a cluster to be restored from a recent backup, and to write as much as was lost.
  relistAwayMs: 15_000,
  watchSeconds: 300,
  overdueMs: 30_000,
  // A quiet watch has bookmarks once a minute at most, so it is probed. That also shows, within 90 s, a
  // restored cluster that ended no watch.
  // A small list out of its cache. With the time of an answer this is how long a server that hangs is not noticed.
  aliveMs: 10_000,
  silentMs: 30_000,
  probeLimitMs: 10_000,
  recheckMs: 2_000,
  stableMs: 500,
  firstPauseMs: 50,
  deniedPauseMs: 60_000,
};

/** Why a watch, or the list before it, was restarted. */
export const RESTART_REASONS = [
  /** Its duration was over. */
  'timeout',
  /** The server or the network ended it early. */
  'closed',
  /** The server no longer has the version to continue from (410). */
  'gone',
  /** The server refused, or was unreachable. */
  'error',
  /** The server was silent. */
  'idle',
  /** The resource is forbidden or does not exist (403, 404). */
  'denied',
  /** The data was not valid. */
  'garbled',
  /** The objects exceed a limit. */
  'full',
  /** The cluster was restored from a backup, emptied, or is another one: its versions began anew. */
  'restored',
] as const;
export type RestartReason = (typeof RESTART_REASONS)[number];

const GONE = 410;
/** The server cannot read the version. */
const BAD_REQUEST = 400;
const DENIED: ReadonlySet<number> = new Set([403, 404]);
/** A watch from the same version would not help, or send the same unreadable event again. */
const NEEDS_LIST: ReadonlySet<RestartReason> = new Set(['gone', 'garbled', 'full', 'restored']);

/** The reason for a restart after this error. */
export function restartReason(error: unknown): RestartReason {
  if (error instanceof StreamError) return error.reason;
  if (!(error instanceof ApiError)) return 'error';
  if (error.status === GONE || error.status === BAD_REQUEST) return 'gone';
  return DENIED.has(error.status) ? 'denied' : 'error';
}

/** Whether a list must follow. */
export function needsList(reason: RestartReason): boolean {
  return NEEDS_LIST.has(reason);
}

/** The longest pause between the tries of a resource. */
export const MAX_PAUSE_MS = 30_000;
/** Limit of the pause that a server requests: a wrong clock there must not stop us for days. */
const MAX_REQUESTED_MS = 60_000;
/** Of that pause: clients that were refused at the same time do not return at the same time. */
const REQUESTED_JITTER = 0.1;
/** A server that is away is found soon after its return: a connection that gets no answer costs little, */
const ABSENCE_PAUSE_MS = 500;
/** and one that is refused next to nothing: the kernel refuses it, often that of this node. */
const REFUSED_PAUSE_MS = 250;

/**
 * The pauses between the tries of one resource. None after a watch that worked, because servers end watches
 * regularly: it worked when it lasted or brought a change, but only one in `stableMs` counts, so that a server
 * that ends each watch immediately is not asked in a tight loop. An answer that says what to do is no failure:
 * a list follows at once when the version is gone, or the cluster another one, and a pause is as long as the
 * server requests. What fails has growing pauses; they stay short while there is no answer at all.
 */
export class RetryPauses {
  readonly #pace: WatchPace;
  readonly #random: () => number;
  readonly #now: () => number;
  /** Of tries to which there was no answer. */
  readonly #absences: BackOff;
  /** Of all other tries that failed. */
  readonly #failures: BackOff;
  #openSinceMs = Infinity;
  #hasChange = false;
  #lastSuccessMs = -Infinity;
  #mayRetryNow = false;
  #mayListNow = true;

  /** `now` is a monotonic clock in ms. */
  constructor(pace: WatchPace, random: () => number, now = () => performance.now()) {
    this.#pace = pace;
    this.#random = random;
    this.#now = now;
    const growth = { firstMs: pace.firstPauseMs, longestMs: MAX_PAUSE_MS, random };
    this.#absences = new BackOff(growth);
    this.#failures = new BackOff(growth);
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
  noteEnd(reason: RestartReason): void {
    const nowMs = this.#now();
    const { stableMs } = this.#pace;
    const hasLasted = this.#hasChange || nowMs - this.#openSinceMs >= stableMs;
    const hasWorked = hasLasted && !needsList(reason);
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
    const mayRetryNow = this.#mayRetryNow;
    this.#mayRetryNow = false;
    if (!isAbsence(error)) this.#absences.reset();
    const requestedMs = error instanceof ApiError ? error.retryAfterMs : 0;
    if (requestedMs > 0) {
      const boundedMs = Math.min(Math.max(requestedMs, this.#pace.firstPauseMs), MAX_REQUESTED_MS);
      return boundedMs * (1 + this.#random() * REQUESTED_JITTER);
    }
    const reason = error === undefined ? 'closed' : restartReason(error);
    // The server is well and has only another history: the list that follows is no repetition.
    if (this.#mayListNow && (reason === 'gone' || reason === 'restored')) {
      this.#mayListNow = false;
      return 0;
    }
    if (mayRetryNow) return 0;
    if (!isAbsence(error)) return this.#failures.next();
    return this.#absences.next(isRefusal(error) ? REFUSED_PAUSE_MS : ABSENCE_PAUSE_MS);
  }
}

/** Whether no program listens at the server's port, as a kernel says. */
export function isRefusal(error: unknown): boolean {
  const { cause } = Object(error) as Error;
  return (Object(cause) as NodeJS.ErrnoException).code === 'ECONNREFUSED';
}

/**
 * Whether the server did not answer: it refused the connection, ended it before an answer, or was silent. One whose
 * handshake fails is there, and each costs CPU.
 */
function isAbsence(error: unknown): boolean {
  if (error instanceof ApiError) return error.status === 0 && !isHandshakeFailure(error.cause);
  return error instanceof StreamError && error.reason === 'idle';
}

/**
 * Something that takes time: a loop, a try, a request, a guard. It ends with the task around it, or when it is
 * aborted, and its pauses end with it. All that waits here waits in one.
 */
export class Task {
  /** Aborted when the task is, with the same reason: ends its requests. */
  readonly signal: AbortSignal;
  readonly #abort = new AbortController();

  constructor(outer?: AbortSignal) {
    const { signal } = this.#abort;
    this.signal = outer === undefined ? signal : AbortSignal.any([outer, signal]);
  }

  get isAborted(): boolean {
    return this.signal.aborted;
  }

  abort(reason = new Error('ended')): void {
    this.#abort.abort(reason);
  }

  /** Resolves after so long, or at the end of the task: to whether it goes on. Does not keep the process alive. */
  pause(ms: number): Promise<boolean> {
    const { signal } = this;
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        resolve(false);
      };
      const timer = setTimeout(() => {
        signal.removeEventListener('abort', end);
        resolve(true);
      }, ms);
      timer.unref();
      signal.addEventListener('abort', end, { once: true });
    });
  }
}

/**
 * Does what must be done within a time limit: then the task is aborted with a StreamError (`idle`). `problem` is the
 * error's text, as `no answer`; the limit is added.
 */
export async function withLimit<T>(
  outer: AbortSignal,
  limitMs: number,
  problem: string,
  work: (task: Task) => Promise<T>,
): Promise<T> {
  const task = new Task(outer);
  const timer = setTimeout(() => {
    task.abort(new StreamError('idle', `${problem} within ${limitMs} ms`));
  }, limitMs);
  try {
    return await work(task);
  } finally {
    // The signal stays: the body of an answer may outlive the limit of its head.
    clearTimeout(timer);
  }
}
