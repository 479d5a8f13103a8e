import { CLASS, FLAG, type Query } from '@kube-dns/wire';

/** Whether the answer to a question may come from the cache. */
export function mayReadCache(query: Query): boolean {
  // Without RD the answer would show what other clients asked for (cache snooping), and cached answers
  // have no DNSSEC records.
  return query.isRecursionDesired && !query.isDnssecOk && query.class === CLASS.IN;
}

/** Whether the answer to a question may be stored in the cache. */
export function mayFillCache(query: Query): boolean {
  // An answer that was not validated upstream (CD) is only for the client that asked for it.
  return query.class === CLASS.IN && (query.flags & FLAG.CD) === 0;
}

/** Whether the answer to a question may take the place of a cached one: clients get answers to plain questions. */
export function mayReplaceCached(query: Query): boolean {
  return query.isRecursionDesired && !query.isDnssecOk;
}
