import type { Log } from '@kube-dns/daemon';
import type { RestartReason } from './watch-statistics.js';

/** The same failure is logged again only after this time. */
const REPEAT_MS = 60_000;
const REJECTED_MS = 10_000;

/** The log of one resource, without repeated failures and without a line for each object. */
export class WatchLog {
  readonly #log: Log;
  readonly #name: string;
  readonly #rejectedMs: number;
  #lastFailure = '';
  #lastFailureMs = 0;
  #rejectedTimer: NodeJS.Timeout | undefined;
  #leftOut = 0;

  constructor(log: Log, name: string, rejectedMs = REJECTED_MS) {
    this.#log = log;
    this.#name = name;
    this.#rejectedMs = rejectedMs;
  }

  info(message: string): void {
    this.#log.info(`${this.#name}: ${message}`);
  }

  detail(message: string): void {
    this.#log.verbose(2, `${this.#name}: ${message}`);
  }

  error(message: string): void {
    this.#log.error(`${this.#name}: ${message}`);
  }

  /** Logs a failure and the next step; the same failure at most once a minute, unless `--v` is 2. */
  failed(failure: string, next: string): void {
    const nowMs = performance.now();
    const line = `${this.#name}: ${failure}; ${next}`;
    if (failure === this.#lastFailure && nowMs < this.#lastFailureMs + REPEAT_MS) {
      this.#log.verbose(2, line);
      return;
    }
    this.#lastFailure = failure;
    this.#lastFailureMs = nowMs;
    this.#log.warn(line);
  }

  /** Logs why a watch or a list is tried again, and when. */
  restarting(reason: RestartReason, failure: string, pauseMs: number, wasDenied: boolean): void {
    const next = pauseMs === 0 ? 'next try now' : `next try in ${Math.round(pauseMs)} ms`;
    if (reason === 'gone') this.detail(`the version is gone, listing again; ${next}`);
    else if (reason === 'denied' && wasDenied) this.detail(`still denied; ${next}`);
    else if (reason === 'full') this.error(`${failure}; not ready; ${next}`);
    else this.failed(failure, next);
  }

  /** Logs what was left out: the first one, and later how many more there were. */
  rejected(what: string, reason: string): void {
    if (this.#rejectedTimer !== undefined) {
      this.#leftOut++;
      return;
    }
    this.#log.error(`${this.#name}: ${what}: ${reason}; left out`);
    this.#rejectedTimer = setTimeout(() => this.close(), this.#rejectedMs).unref();
  }

  /** Logs the pending count. */
  close(): void {
    clearTimeout(this.#rejectedTimer);
    this.#rejectedTimer = undefined;
    if (this.#leftOut === 0) return;
    this.#log.error(`${this.#name}: ${this.#leftOut} more left out`);
    this.#leftOut = 0;
  }
}
