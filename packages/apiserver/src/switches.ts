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

/** Which requests are refused, and how. */
export interface Failure {
  readonly status: keyof typeof REASONS;
  /** Plural name, such as `services`; default: every resource. */
  readonly resource?: string;
  readonly verb?: Verb;
  /** How many requests are refused; default: all until failures are cleared. */
  readonly times?: number;
  /** Sent as `Retry-After` and in the Status. */
  readonly retryAfterSeconds?: number;
  /** Default: that a test refuses it. */
  readonly message?: string;
}

/** The watches that a server refuses while it fills its watch cache. Source: storage/cacher ready. */
export function unreadyCache(times: number): Failure {
  const message = 'storage is (re)initializing';
  return { status: 429, verb: 'watch', times, retryAfterSeconds: 1, message };
}

/** How a server is restarted. */
export interface RestartOptions {
  /** How long connections are refused, default 0. */
  readonly downMs?: number;
  /**
   * The objects after it: those before it (the default), those of a new cluster, which begins at
   * version 1 again, or those of the last backup with their version.
   */
  readonly data?: RestartData;
  /** False: watches from a version before the restart get 410. Default true. */
  readonly hasHistory?: boolean;
  /** How many watches are refused with 429 at first, default 0. */
  readonly refusedWatches?: number;
}

const RESTART_DATA = ['same', 'empty', 'backup'] as const;

type RestartData = (typeof RESTART_DATA)[number];

/** Whether a value says which objects there are after a restart. */
export function isRestartData(value: unknown): value is RestartData {
  return RESTART_DATA.some((data) => data === value);
}

/** Whether a number is a status that requests can be refused with. */
export function isFailureStatus(status: unknown): status is Failure['status'] {
  return typeof status === 'number' && Object.hasOwn(REASONS, status);
}

interface ArmedFailure {
  readonly failure: Failure;
  remaining: number;
}

/**
 * Faults that tests switch on to see how a client handles them. All are off at the start.
 */
export class Switches {
  /** Off: `sendInitialEvents` is refused, as by servers without WatchList. */
  supportsInitialEvents = true;
  /** Off: `limit` is ignored, as by servers that answer from their watch cache. */
  supportsLimit = true;
  /** Every request is delayed by this time. */
  delayMs = 0;
  /** The versions of a group that are served, as those of a CRD that is removed; all of a group that is not here. */
  readonly servedVersions = new Map<string, readonly string[]>();
  readonly #failures: ArmedFailure[] = [];
  readonly #waiting = new Set<() => void>();
  #isHung = false;

  get isHung(): boolean {
    return this.#isHung;
  }

  /** Holds every request back, or releases those that wait. */
  setHung(isHung: boolean): void {
    this.#isHung = isHung;
    if (isHung) return;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const proceed of waiting) proceed();
  }

  /** Calls `proceed` once requests are no longer held back; the returned function cancels that. */
  whenRunning(proceed: () => void): () => void {
    if (!this.#isHung) {
      proceed();
      return () => undefined;
    }
    this.#waiting.add(proceed);
    return () => void this.#waiting.delete(proceed);
  }

  /** Whether a path is not one of a version that is not served. */
  isServed(path: string): boolean {
    const [, root, group = '', version] = path.split('/');
    const served = root === 'apis' ? this.servedVersions.get(group) : undefined;
    if (served === undefined) return true;
    return version === undefined ? served.length > 0 : served.includes(version);
  }

  /** Refuses requests from now on; of several matching failures the oldest is used. */
  fail(failure: Failure): void {
    this.#failures.push({ failure, remaining: failure.times ?? Infinity });
  }

  clearFailures(): void {
    this.#failures.length = 0;
  }

  /** Throws when a failure matches the request, and counts it. */
  check(verb: Verb, resource: string): void {
    const index = this.#failures.findIndex(
      ({ failure }) =>
        (failure.resource ?? resource) === resource && (failure.verb ?? verb) === verb,
    );
    const armed = this.#failures[index];
    if (!armed) return;
    armed.remaining -= 1;
    if (armed.remaining <= 0) this.#failures.splice(index, 1);
    const { status, retryAfterSeconds, message } = armed.failure;
    const details = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
    throw new ApiError(
      REASONS[status],
      message ?? `${verb} of ${resource} is refused by a test`,
      details,
    );
  }
}

/** Counts the requests of clients by verb and resource, when they arrive. */
export class RequestLog {
  readonly #counts = new Map<string, number>();
  #lastUserAgent: string | undefined;

  /** The `User-Agent` of the last request for a resource. */
  get lastUserAgent(): string | undefined {
    return this.#lastUserAgent;
  }

  record(verb: Verb, resource: string, userAgent: string | undefined): void {
    const key = `${verb} ${resource}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    this.#lastUserAgent = userAgent;
  }

  /** Number of requests with this verb for a resource. */
  count(verb: Verb, resource: string): number {
    return this.#counts.get(`${verb} ${resource}`) ?? 0;
  }

  /** Every count, by verb and resource such as `list services`. */
  toJSON(): object {
    return { counts: Object.fromEntries(this.#counts), lastUserAgent: this.#lastUserAgent ?? null };
  }
}
