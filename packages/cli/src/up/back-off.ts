const FIRST_DELAY_MS = 10_000;
const MAX_DELAY_MS = 300_000;
const RESET_AFTER_MS = 600_000;

/**
 * The delays of the kubelet's CrashLoopBackOff: none before the first restart, then 10 s doubling
 * to 5 minutes; a container that ran for 10 minutes starts over.
 */
export class BackOff {
  #nextMs = 0;

  /** How long to wait, in milliseconds, before the restart of a container that ran for `ranForMs`. */
  next(ranForMs: number): number {
    if (ranForMs >= RESET_AFTER_MS) this.#nextMs = 0;
    const delayMs = this.#nextMs;
    this.#nextMs = delayMs === 0 ? FIRST_DELAY_MS : Math.min(delayMs * 2, MAX_DELAY_MS);
    return delayMs;
  }
}
