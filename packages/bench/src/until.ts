import { setTimeout as delay } from 'node:timers/promises';

/** Asks again and again until there is a yes; false when there was none in time. */
export async function until(
  ask: () => boolean | Promise<boolean>,
  limitMs: number,
  stepMs: number,
): Promise<boolean> {
  const endMs = performance.now() + limitMs;
  while (!(await ask())) {
    if (performance.now() > endMs) return false;
    await delay(stepMs);
  }
  return true;
}
