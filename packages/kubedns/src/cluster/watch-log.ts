import type { Log } from '@kube-dns/daemon';

/** The same trouble again is not worth a line before. */
const REPEAT_MS = 60_000;
const REJECTED_MS = 10_000;

/** What is said about one resource: not the same again and again, and not a line for each object. */
export class WatchLog {
  readonly #log: Log;
  readonly #name: string;
  readonly #rejectedMs: number;
  #lastTrouble = '';
  #lastTroubleMs = 0;
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

  /** A failure and what comes next; the same failure at most once a minute, unless `--v` is 2. */
  trouble(failure: string, next: string): void {
    const nowMs = performance.now();
    const line = `${this.#name}: ${failure}; ${next}`;
    if (failure === this.#lastTrouble && nowMs < this.#lastTroubleMs + REPEAT_MS) {
      this.#log.verbose(2, line);
      return;
    }
    this.#lastTrouble = failure;
    this.#lastTroubleMs = nowMs;
    this.#log.warn(line);
  }

  /** One thing that was left out; of many only the first, and how many more there were. */
  rejected(what: string, reason: string): void {
    if (this.#rejectedTimer !== undefined) {
      this.#leftOut++;
      return;
    }
    this.#log.error(`${this.#name}: ${what}: ${reason}; left out`);
    this.#rejectedTimer = setTimeout(() => this.close(), this.#rejectedMs).unref();
  }

  /** Says what was not said yet. */
  close(): void {
    clearTimeout(this.#rejectedTimer);
    this.#rejectedTimer = undefined;
    if (this.#leftOut === 0) return;
    this.#log.error(`${this.#name}: ${this.#leftOut} more left out`);
    this.#leftOut = 0;
  }
}
