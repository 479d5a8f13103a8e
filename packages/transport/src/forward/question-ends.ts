import type { ReplyOutline } from '@kube-dns/wire';
import type { Failure } from './failure.js';
import { FailureMemory } from './failure-memory.js';
import type { Flight } from './flight.js';
import type { ForwarderCounters } from './forwarder-counters.js';
import { Prefetches } from './prefetches.js';
import type { QueryForwarderOptions } from './query-forwarder-options.js';
import { isRefusal } from './reply-flaw.js';
import type { ServerGroup } from './server-group.js';
import { SpareWaiters } from './spare-waiters.js';
import type { StaleClients } from './stale-clients.js';
import type { Waiter } from './waiter.js';

export interface QuestionEndsOptions {
  readonly counters: ForwarderCounters;
  /** Of the reply that is being handled. */
  readonly outline: ReplyOutline;
  /** Undefined unless clients get expired answers. */
  readonly stale: StaleClients | undefined;
  readonly now: () => number;
}

/** What is known of a question before it is asked. */
export interface QuestionState {
  readonly isInFlight: boolean;
  /** Why it failed a moment ago, which is its answer until that is forgotten. */
  readonly failure: Failure | undefined;
}

/** What follows from the end of a question: for those that wait, for the same question later, and for prefetches. */
export class QuestionEnds {
  readonly failures: FailureMemory;
  readonly prefetches = new Prefetches();
  readonly waiters = new SpareWaiters();
  readonly #options: QuestionEndsOptions;
  readonly #maxInFlight: number;

  constructor(
    options: QuestionEndsOptions,
    { servfailMs, maxInFlight }: Pick<QueryForwarderOptions, 'servfailMs' | 'maxInFlight'>,
  ) {
    this.#options = options;
    this.#maxInFlight = maxInFlight;
    this.failures = new FailureMemory(options.now, servfailMs);
  }

  /** Whether a prefetch may be sent to these servers, beside so many questions in flight. */
  mayPrefetch(group: ServerGroup, inFlight: number): boolean {
    return this.prefetches.mayAsk(group, inFlight, this.#maxInFlight);
  }

  /** A question has ended, with a reply or without. */
  note(flight: Flight, reply: Buffer | null): void {
    if (!this.prefetches.noteEnd(flight, reply)) this.failures.note(flight, reply);
    this.#options.stale?.noteEnd(flight, reply);
  }

  /** Gives all that wait for a question what it ended with. */
  answerAll(flight: Flight, reply: Buffer | null): void {
    const { waiters } = flight;
    for (const waiter of waiters) this.answer(waiter, reply, flight);
    // One by one: an array that is cut at once gives up its memory.
    while (waiters.length > 0) this.waiters.give(waiters.pop());
  }

  /** Gives one that waited what it ended with. */
  answer(waiter: Waiter, reply: Buffer | null, flight: Flight): void {
    const { counters, outline } = this.#options;
    if (reply === null) {
      if (waiter.stale === undefined) counters.failures++;
      waiter.fail(flight.failure);
      return;
    }
    if (outline.message !== reply) outline.read(reply);
    waiter.answer(reply, outline, isRefusal(reply) ? flight.failure : undefined);
  }
}
