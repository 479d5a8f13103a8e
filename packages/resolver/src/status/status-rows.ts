import type { StatusFacts } from '@kube-dns/daemon';
import type { QueryForwarder } from '@kube-dns/transport';
import type { AnswerCache } from '../cache/answer-cache.js';

/** A row for each zone that names in the cache are of, the largest first; in turns of the event loop. */
export async function cacheRows(
  cache: Pick<AnswerCache, 'countBy'>,
  zoneOf: (name: Uint8Array, length: number) => string,
): Promise<StatusFacts[]> {
  const zones = [...(await cache.countBy(zoneOf))];
  zones.sort(([, one], [, other]) => other.entries - one.entries);
  return zones.map(([zone, { entries, records, negative, kept, stale, bytes }]) => ({
    zone,
    entries,
    records,
    negative,
    kept,
    stale,
    usedBytes: bytes,
  }));
}

/** The cache as a whole. */
export function cacheFacts(
  cache: Pick<
    AnswerCache,
    'entryCount' | 'recordCount' | 'maxRecords' | 'denialCount' | 'usedBytes' | 'takenBytes'
  >,
): StatusFacts {
  return {
    entries: cache.entryCount,
    records: cache.recordCount,
    capacity: cache.maxRecords,
    negative: cache.denialCount,
    usedBytes: cache.usedBytes,
    takenBytes: cache.takenBytes,
  };
}

/** The questions in flight to servers, and what became of others since the start. */
export function flightFacts(
  { inFlight, counters, prefetches }: Pick<QueryForwarder, 'inFlight' | 'counters' | 'prefetches'>,
  maxInFlight: number,
): StatusFacts {
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
