import { encodeRefusal, type Query, relayTargetOf } from '@kube-dns/wire';
import type { Failure } from './failure.js';
import { giveNow, type StaleAnswer } from './stale-clients.js';

/** Refuses queries. */
export class RefusalWriter {
  /** Why the last one was refused. */
  last: Failure | undefined;

  /** Writes a refusal, or the client's expired answer, into `out` and returns its length. */
  write(
    query: Query,
    out: Uint8Array,
    rcode: number,
    failure: Failure,
    stale?: StaleAnswer,
  ): number {
    if (stale !== undefined) return giveNow(stale, out);
    this.last = failure;
    const target = relayTargetOf(query, false, false, query.bytes);
    const refusal = encodeRefusal(target, rcode, failure.option);
    out.set(refusal);
    return refusal.length;
  }
}
