import type { ChangeSource } from '@kube-dns/daemon';
import type { Change, Facts, NumberedSlice } from './worker-messages.js';
import type { ZoneFeed } from './zone-feed.js';

/** Endpoints that are told at a time: what takes a worker a few milliseconds. */
const BATCH_ENDPOINTS = 8_192;

/**
 * What kubedns's workers are told: the facts and the zone. What waits are references to what the leader has
 * in memory anyway.
 */
export function zoneChanges(feed: ZoneFeed, facts: () => Facts): ChangeSource<Change> {
  return {
    batchWeight: BATCH_ENDPOINTS,
    weightOf,
    follow: (follower) => feed.follow(follower),
    unfollow: (follower) => feed.unfollow(follower),
    *snapshot() {
      yield ['facts', facts()];
      yield* feed.snapshot();
    },
  };
}

/** Bytes of addresses, in endpoints of IPv4. */
function weightOf(change: Change): number {
  if (change[0] === 'slice') return change[2] === undefined ? 0 : endpointsOf([change[2]]);
  return change[0] === 'whole' ? endpointsOf(change[3]) : 0;
}

function endpointsOf(slices: readonly NumberedSlice[]): number {
  let bytes = 0;
  for (const [, { groups }] of slices) for (const group of groups) bytes += group.bytes.length;
  return bytes / 4;
}
