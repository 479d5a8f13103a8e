import { setTimeout as delay } from 'node:timers/promises';
import { errorText } from '@kube-dns/base';
import { type Log } from '@kube-dns/daemon';

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

/**
 * Runs a loop that ends when the signal is aborted. It catches what can fail; what ends it all the same is logged, and its
 * result becomes stale.
 */
export function startLoop(
  what: string,
  run: () => Promise<void>,
  signal: AbortSignal,
  log: Log,
): void {
  void run().catch((error: unknown) => {
    if (!signal.aborted) log.error(`${what}: stopped: ${errorText(error)}`);
  });
}
