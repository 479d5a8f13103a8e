import { setTimeout as delay } from 'node:timers/promises';

/** Clock, random numbers and pauses of the loops; tests replace them. */
export interface Pacing {
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Waits; rejects when the signal is aborted. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
}

export const SYSTEM_PACING: Pacing = {
  now: () => performance.now(),
  random: Math.random,
  pause: (ms, signal) => delay(ms, undefined, { signal }),
};
