import { ApiError, type StatusReason } from './errors.js';

const VERBS = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
] as const;

/** What a client does to a resource. */
export type Verb = (typeof VERBS)[number];

/** Whether a value is the name of a verb. */
export function isVerb(value: unknown): value is Verb {
  return VERBS.some((verb) => verb === value);
}

const REASONS = {
  403: 'Forbidden',
  410: 'Expired',
  429: 'TooManyRequests',
  500: 'InternalError',
} as const satisfies Record<number, StatusReason>;

/** Requests that are to be refused. */
export interface Failure {
  readonly status: keyof typeof REASONS;
  /** Plural name, such as `services`; left out: every resource. */
  readonly resource?: string;
  readonly verb?: Verb;
  /** How many requests are refused; left out: all until failures are cleared. */
  readonly times?: number;
  /** Sent as `Retry-After` and in the Status. */
  readonly retryAfterSeconds?: number;
}

/** Whether a number is a status that requests can be refused with. */
export function isFailureStatus(status: unknown): status is Failure['status'] {
  return typeof status === 'number' && Object.hasOwn(REASONS, status);
}

interface ArmedFailure {
  readonly failure: Failure;
  left: number;
}

/**
 * Disturbances that tests switch on, to see what a client makes of them. Everything is off at
 * the start.
 */
export class Switches {
  /** Off: `sendInitialEvents` is refused, as by servers without WatchList. */
  supportsInitialEvents = true;
  /** Off: `limit` is ignored, as by servers that answer from their watch cache. */
  supportsLimit = true;
  /** Every request waits as long before it is looked at. */
  delayMs = 0;
  readonly #failures: ArmedFailure[] = [];
  readonly #waiting = new Set<() => void>();
  #isHung = false;

  get isHung(): boolean {
    return this.#isHung;
  }

  /** Holds every request back, or lets those go on that wait. */
  setHung(isHung: boolean): void {
    this.#isHung = isHung;
    if (isHung) return;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const proceed of waiting) proceed();
  }

  /** Calls `proceed` once requests are no longer held back; the answer gives up the wait. */
  whenRunning(proceed: () => void): () => void {
    if (!this.#isHung) {
      proceed();
      return () => undefined;
    }
    this.#waiting.add(proceed);
    return () => void this.#waiting.delete(proceed);
  }

  /** Refuses requests from now on; the failure that was added first wins. */
  fail(failure: Failure): void {
    this.#failures.push({ failure, left: failure.times ?? Infinity });
  }

  clearFailures(): void {
    this.#failures.length = 0;
  }

  /** Throws when a request is to be refused, and counts it. */
  check(verb: Verb, resource: string): void {
    const index = this.#failures.findIndex(
      ({ failure }) =>
        (failure.resource ?? resource) === resource && (failure.verb ?? verb) === verb,
    );
    const armed = this.#failures[index];
    if (!armed) return;
    armed.left -= 1;
    if (armed.left <= 0) this.#failures.splice(index, 1);
    const { status, retryAfterSeconds } = armed.failure;
    const details = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
    throw new ApiError(REASONS[status], `${verb} of ${resource} is refused by a test`, details);
  }
}
