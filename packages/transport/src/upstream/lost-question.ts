import type { Flight } from './flight.js';
import type { ServerGroup } from './server-group.js';

/** A question without a reply from any server for so long is in doubt. */
const DOUBT_MS = 200;
/** A client waits so long at least, even if all servers are down meanwhile. */
const LOST_MS = 1_600;

/**
 * Whether no client need wait for a question any more: none of its servers replies to anything, although they did before,
 * and sooner. While it has no reply, all of them are probed.
 */
export function isLost(
  { group, startedAtMs, isCounted, isQueued, isOverTcp, fallback }: Flight,
  nowMs: number,
): boolean {
  const ageMs = nowMs - startedAtMs;
  const isOverUdp = !isOverTcp && !group.isEncrypted;
  if (ageMs < DOUBT_MS || !isCounted || isQueued || !isOverUdp || fallback !== null) return false;
  const limitMs = replyLimitMs(group);
  if (ageMs < limitMs) return false;
  for (const { health } of group.servers) health.doubt(group.domain, startedAtMs, limitMs);
  return ageMs >= LOST_MS && group.isDown(false);
}

/** A reply that takes longer is late for the slowest of the servers that ever replied; Infinity when none did. */
function replyLimitMs({ servers }: ServerGroup): number {
  let limitMs = Number.NEGATIVE_INFINITY;
  for (const { health } of servers) {
    if (health.replyTime.isKnown) limitMs = Math.max(limitMs, health.replyTime.limitMs);
  }
  return limitMs < 0 ? Number.POSITIVE_INFINITY : limitMs;
}
