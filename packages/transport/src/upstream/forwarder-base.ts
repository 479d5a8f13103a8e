import { RecordCursor } from '@kube-dns/wire';
import type { Flight } from './flight.js';
import { Prefetches } from './prefetches.js';
import type { QueryForwarderOptions } from './query-forwarder-options.js';
import { isRefusal } from './reply-flaw.js';
import type { RetryPlan } from './retry-plan.js';
import type { Waiter } from './waiter.js';

/** What a forwarder has besides its questions: options, clock and counts, each of which only grows. */
export class ForwarderBase {
  /** Questions forwarded, alone or joined to an equal one in flight. */
  forwarded = 0;
  /** Queries over UDP that made us send a query upstream (dnsmasq's `misses`). */
  sentForUdp = 0;
  /** Queries that joined a question in flight; some of them made us send it again. */
  joined = 0;
  /** Queries refused because too many were in flight. */
  overflows = 0;
  /** Questions that no server answered; the client got SERVFAIL. */
  failures = 0;
  readonly options: QueryForwarderOptions;
  readonly plan: RetryPlan;
  readonly portLimit: number;
  readonly prefetches = new Prefetches();
  readonly cursor = new RecordCursor();

  constructor(options: QueryForwarderOptions) {
    this.options = options;
    this.plan = options.plan;
    this.portLimit = options.portLimit ?? 1;
  }

  now(): number {
    return this.options.now?.() ?? performance.now();
  }

  /** Gives a waiter what its question ended with. */
  protected answer(waiter: Waiter, reply: Buffer | null, flight: Flight): void {
    if (reply === null) {
      if (waiter.stale === undefined) this.failures++;
      waiter.fail(flight.failure);
    } else waiter.answer(reply, this.cursor, isRefusal(reply) ? flight.failure : undefined);
  }
}
