import { encodeRefusal, type Query, RCODE, relayTargetOf } from '@kube-dns/wire';
import { type Client, SOURCE } from '../answerer.js';
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

  /**
   * Of a question for which there is no place: writes a refusal, or the client's expired answer, into `out` and returns its
   * length; so do the others.
   */
  writeFull(
    query: Query,
    out: Uint8Array,
    client: Client,
    failure: Failure,
    stale?: StaleAnswer,
  ): number {
    if (stale !== undefined) return giveNow(stale, out, client);
    return this.#write(query, out, RCODE.REFUSED, failure);
  }

  /** Of a question that failed a moment ago. */
  writeFailed(
    query: Query,
    out: Uint8Array,
    client: Client,
    failure: Failure,
    stale?: StaleAnswer,
  ): number {
    if (stale !== undefined) return giveNow(stale, out, client);
    client.answersFrom(SOURCE.CACHE);
    return this.#fail(query, out, failure);
  }

  /** Of a question that cannot be sent to any server of a group. */
  writeUnsent(
    query: Query,
    out: Uint8Array,
    client: Client,
    { failure }: ServerGroup,
    stale?: StaleAnswer,
  ): number {
    if (stale !== undefined) return giveNow(stale, out, client);
    client.answersFrom(SOURCE.UPSTREAM);
    const isRefused = failure === undefined && this.#unsentRcode !== RCODE.SERVFAIL;
    if (isRefused) return this.#write(query, out, this.#unsentRcode, NOT_SENT);
    return this.#fail(query, out, failure ?? NOT_SENT);
  }

  #fail(query: Query, out: Uint8Array, failure: Failure): number {
    if (failure.isSilence) this.#counters.failures++;
    return this.#write(query, out, RCODE.SERVFAIL, failure);
  }

  #write(query: Query, out: Uint8Array, rcode: number, failure: Failure): number {
    this.last = failure;
    const target = relayTargetOf(query, false, false, query.bytes);
    const refusal = encodeRefusal(target, rcode, failure.option);
    out.set(refusal);
    return refusal.length;
  }
}
