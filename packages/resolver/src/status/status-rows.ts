import type { StatusFacts } from '@kube-dns/daemon';
import type { ForwarderFacts } from '@kube-dns/transport';
import type { CacheFacts, EntryCounts } from '../cache/answer-cache.js';

/** A row for each zone that names in the cache are of, the largest first. */
export function cacheRows(zones: ReadonlyMap<string, EntryCounts>): StatusFacts[] {
  const rows = [...zones].sort(([, one], [, other]) => other.entries - one.entries);
  return rows.map(([zone, { entries, records, negative, pinned, stale, bytes }]) => ({
    zone,
    entries,
    records,
    negative,
    pinned,
    stale,
    usedBytes: bytes,
  }));
}

/** The cache as a whole. */
export function cacheFacts(cache: CacheFacts): StatusFacts {
  return {
    entries: cache.entries,
    records: cache.records,
    capacity: cache.maxRecords,
    negative: cache.negative,
    usedBytes: cache.usedBytes,
    takenBytes: cache.takenBytes,
  };
}

/** The questions in flight to servers, and what became of others since the start. */
export function flightFacts(forwarder: ForwarderFacts): StatusFacts {
  const { inFlight, maxInFlight, counters, prefetches } = forwarder;
  return {
    inFlight,
    maxInFlight,
    forwarded: counters.forwarded,
    joined: counters.joined,
    refusedAsTooMany: counters.overflows,
    failed: counters.failures,
    prefetched: prefetches.fresh,
  };
}
