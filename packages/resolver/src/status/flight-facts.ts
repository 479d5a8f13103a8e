import type { StatusFacts } from '@kube-dns/daemon';
import type { QueryForwarder } from '@kube-dns/transport';

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
