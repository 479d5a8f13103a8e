import { setTimeout as delay } from 'node:timers/promises';

const DEADLINE_MS = 10_000;
const STEP_MS = 10;

/** Waits until the condition holds; rejects when it does not within the deadline. */
export async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!condition()) {
    if (Date.now() > deadline)
      throw new Error(`not within ${DEADLINE_MS} ms: ${String(condition)}`);
    await delay(STEP_MS);
  }
}
