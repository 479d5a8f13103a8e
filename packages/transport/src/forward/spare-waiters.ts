import type { Query } from '@kube-dns/wire';
import type { Client } from '../answerer.js';
import type { Flight } from './flight.js';
import type { StaleAnswer } from './stale-clients.js';
import type { AddedOptions } from './upstream-query.js';
import { ClientWaiter, type PassedOn, type Waiter } from './waiter.js';

/** This many are kept for the next clients: a few batches of replies end as many. */
const MAX_SPARE = 256;

/** The waiters of clients that are answered, to be used again: a new one for each client is much garbage. */
export class SpareWaiters {
  readonly #spare: ClientWaiter[] = [];

  /** One that waits for this client. */
  take(
    query: Query,
    client: Client,
    flight: Flight,
    passes: PassedOn,
    added: AddedOptions,
    stale?: StaleAnswer,
  ): ClientWaiter {
    const waiter = this.#spare.pop() ?? new ClientWaiter();
    waiter.begin(query, client, flight, passes, added, stale);
    return waiter;
  }

  /** Takes one that is answered, once, and that nothing refers to. */
  give(waiter: Waiter | undefined): void {
    if (!(waiter instanceof ClientWaiter) || this.#spare.length >= MAX_SPARE) return;
    waiter.end();
    this.#spare.push(waiter);
  }
}
