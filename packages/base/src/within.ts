import { setTimeout as delay } from 'node:timers/promises';

/** Resolves when the work is done, or after so many ms; then no timer is left. */
export async function within(limitMs: number, work: Promise<void>): Promise<void> {
  const limit = new AbortController();
  const late = delay(limitMs, undefined, { ref: false, signal: limit.signal });
  await Promise.race([work, late.catch(() => undefined)]);
  limit.abort();
}
