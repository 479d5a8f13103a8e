import { encodeRefusal, type Query, RCODE, relayTargetOf } from '@kube-dns/wire';
import { type Failure, NOT_SENT } from './failure.js';
import type { ForwarderCounters } from './forwarder-counters.js';
import type { ServerGroup } from './server-group.js';
import { giveNow, type StaleAnswer } from './stale-clients.js';

/** Refuses queries. */
export class RefusalWriter {
  /** Why the last one was refused. */
  last: Failure | undefined;
  readonly #counters: ForwarderCounters;
  readonly #unsentRcode: number;

  /** `unsentRcode` is for a question that cannot be sent although its servers are up. */
  constructor(counters: ForwarderCounters, unsentRcode: number = RCODE.REFUSED) {
    this.#counters = counters;
    this.#unsentRcode = unsentRcode;
  }

  /** Writes a refusal, or the client's expired answer, into `out` and returns its length; so do the others. */
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

  /** Of a question that failed. */
  writeFailed(query: Query, out: Uint8Array, failure: Failure, stale?: StaleAnswer): number {
    if (failure.isSilence && stale === undefined) this.#counters.failures++;
    return this.write(query, out, RCODE.SERVFAIL, failure, stale);
  }

  /** Of a question that cannot be sent to any server of a group. */
  writeUnsent(query: Query, out: Uint8Array, group: ServerGroup, stale?: StaleAnswer): number {
    const { failure } = group;
    if (failure === undefined && this.#unsentRcode !== RCODE.SERVFAIL)
      return this.write(query, out, this.#unsentRcode, NOT_SENT, stale);
    return this.writeFailed(query, out, failure ?? NOT_SENT, stale);
  }
}
