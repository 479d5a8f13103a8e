import { CLASS, FLAG, type Query } from '@kube-dns/wire';

/** Tells whether the answer to a question may come from the cache. */
export function mayReadCache(query: Query): boolean {
  // Without RD only what was asked for by somebody else would be shown (cache snooping), and what is
  // kept has no DNSSEC records.
  return query.isRecursionDesired && !query.isDnssecOk && query.class === CLASS.IN;
}

/** Tells whether the answer to a question may go to the cache. */
export function mayFillCache(query: Query): boolean {
  // An answer that was not checked upstream is for the one who asked for it so.
  return query.class === CLASS.IN && (query.flags & FLAG.CD) === 0;
}
