import { encodeRefusal, type Query, relayTargetOf } from '@kube-dns/wire';
import type { Failure } from './failure.js';

/** Refuses queries. */
export class RefusalWriter {
  /** Why the last one was refused. */
  last: Failure | undefined;

  /** Writes a refusal into `out` and returns its length. */
  write(query: Query, out: Uint8Array, rcode: number, failure: Failure): number {
    this.last = failure;
    const target = relayTargetOf(query, false, false, query.bytes);
    const refusal = encodeRefusal(target, rcode, failure.option);
    out.set(refusal);
    return refusal.length;
  }
}
