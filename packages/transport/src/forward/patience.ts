import type { Attempt } from './attempt.js';

const PATIENCE_MS = 1_000;
/** How long a question waits for the reply to a probe when all servers are down. */
export const HOLD_MS = 50;

/** How long a refusal waits for a better reply of the others that were asked: longer where one takes longer. */
export function patienceMs(open: readonly Attempt[]): number {
  let limitMs = PATIENCE_MS;
  for (const { server } of open) {
    const { replyTime } = server.health;
    if (replyTime.isKnown) limitMs = Math.max(limitMs, replyTime.limitMs);
  }
  return limitMs;
}
