const TICK_MS = 2;
/** What could not be done in time is given up beyond this, so that a late attacker does not burst. */
const MAX_LATE_MS = 50;

/** Does something a fixed number of times each second until it is closed. */
export class Pace {
  done = 0;
  readonly #timer: NodeJS.Timeout;
  readonly #startedMs = performance.now();

  constructor(perSecond: number, act: () => void) {
    let lastMs = this.#startedMs;
    let due = 0;
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      due += (Math.min(nowMs - lastMs, MAX_LATE_MS) * perSecond) / 1_000;
      lastMs = nowMs;
      for (; due >= 1; due--) {
        act();
        this.done++;
      }
    }, TICK_MS);
  }

  /** How often it was done each second, on average. */
  get perSecond(): number {
    return (this.done * 1_000) / (performance.now() - this.#startedMs);
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
