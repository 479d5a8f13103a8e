import { monotonicMs } from '@kube-dns/testkit';

/**
 * Calls back at a fixed rate, and records how late each call is: how long this process could not run.
 * Missed calls are not repeated.
 */
export class Ticker {
  readonly #intervalMs: number;
  readonly #onTick: (nowMs: number) => void;
  #delaysMs: number[] = [];
  #dueMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(intervalMs: number, onTick: (nowMs: number) => void) {
    this.#intervalMs = intervalMs;
    this.#onTick = onTick;
    this.#dueMs = monotonicMs();
    this.#schedule();
  }

  /** The delays since the last call. */
  takeDelays(): readonly number[] {
    const delays = this.#delaysMs;
    this.#delaysMs = [];
    return delays;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #schedule(): void {
    const nowMs = monotonicMs();
    this.#dueMs = Math.max(this.#dueMs + this.#intervalMs, nowMs);
    this.#timer = setTimeout(() => this.#tick(), this.#dueMs - nowMs);
  }

  #tick(): void {
    const nowMs = monotonicMs();
    this.#delaysMs.push(Math.max(0, nowMs - this.#dueMs));
    this.#onTick(nowMs);
    if (this.#timer !== undefined) this.#schedule();
  }
}
