import { setTimeout as delay } from 'node:timers/promises';

const DEADLINE_MS = 10_000;
const STEP_MS = 10;

/** Asks again and again until there is something; fails with `what` after ten seconds. */
export async function until<T>(
  what: string,
  find: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    const found = await find();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`too late: ${what}`);
    await delay(STEP_MS);
  }
}
