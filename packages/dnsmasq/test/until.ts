import { setTimeout as delay } from 'node:timers/promises';

const DEADLINE_MS = 8_000;
const STEP_MS = 10;

/** Waits until the condition holds; rejects when it does not within the deadline. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what = String(condition),
): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`not within ${DEADLINE_MS} ms: ${what}`);
    await delay(STEP_MS);
  }
}
