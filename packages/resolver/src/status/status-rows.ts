import type { StatusFacts } from '@kube-dns/daemon';
import type { QueryForwarder } from '@kube-dns/transport';
import type { AnswerCache } from '../cache/answer-cache.js';
import type { SubscriptionRow } from '../subscription/subscription-row.js';
import { downFirst } from './server-facts.js';

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

/**
 * A row for each zone whose server may tell what changes, those that should and do not first. What is counted of a server
 * is in the row of its first zone.
 */
export function zoneRows(
  rows: readonly SubscriptionRow[],
  nowMs = performance.now(),
): StatusFacts[] {
  const ageSeconds = (ms: number | undefined) =>
    ms === undefined ? null : Math.round((nowMs - ms) / 100) / 10;
  const shown = rows.flatMap((row) =>
    row.zones.map((zone, index): StatusFacts => ({
      zone,
      server: row.server,
      state: row.state,
      reason: row.reason === '' ? null : row.reason,
      forSeconds: ageSeconds(row.sinceMs),
      serial: row.serial ?? null,
      lastChangeSeconds: ageSeconds(row.changedMs),
      lastMessageSeconds: ageSeconds(row.heardMs),
      processes: row.processes,
      // Of the server, not of a zone: once.
      keptAnswers: index === 0 ? row.keptAnswers : null,
      droppedAnswers: index === 0 ? row.droppedAnswers : null,
      flushes: index === 0 ? flushesText(row) : null,
    })),
  );
  return downFirst(shown);
}

/** How often all answers were dropped, by reason: `missed-message 2`. */
function flushesText({ flushes }: SubscriptionRow): string {
  const counted = Object.entries(flushes).filter(([, count]) => count > 0);
  return counted.map(([reason, count]) => `${reason} ${count}`).join(', ');
}

/** A sentence for each server that told what changes, and does not now. */
export function zoneProblems(rows: readonly SubscriptionRow[]): string[] {
  return rows
    .filter(({ state }) => state === 'down')
    .map(
      ({ server, zones, reason }) =>
        `${server} tells no changes of ${zones.join(', ')} now (${reason}): TTLs rule`,
    );
}
