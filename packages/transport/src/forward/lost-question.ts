import type { Flight } from './flight.js';

/** A question without a reply from any server for so long is in doubt. */
const DOUBT_MS = 200;
/** A client waits so long at least, even if all servers are down meanwhile. */
const LOST_MS = 1_600;

/**
 * Whether no client need wait for a question any more: none of its servers replies to anything, although they did before,
 * and sooner. While it has no reply, all of them are probed.
 */
export function isLost(
  { group, startedAtMs, isCounted, isQueued, isOverTcp, best }: Flight,
  nowMs: number,
): boolean {
  const ageMs = nowMs - startedAtMs;
  if (ageMs < DOUBT_MS || !isCounted || isQueued || isOverTcp || best.message !== null)
    return false;
  const limitMs = group.replyLimitMs;
  if (ageMs < limitMs) return false;
  for (const { health } of group.servers) health.doubt(group.domain, startedAtMs, limitMs);
  return ageMs >= LOST_MS && group.isDown(false);
}
