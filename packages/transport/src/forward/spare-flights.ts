import type { Query } from '@kube-dns/wire';
import { Flight } from './flight.js';
import type { FlightOwner } from './flight-owner.js';
import type { QuestionKey } from './question-key.js';
import type { ServerGroup } from './server-group.js';

/** This many are kept for the next questions: a few batches of replies end as many. */
const MAX_SPARE = 256;

/**
 * Flights that have ended, to be used again: a new one for each question is much garbage. What comes late finds none of
 * them: a reply is for what was sent, which is never used again.
 */
export class SpareFlights {
  readonly #owner: FlightOwner;
  readonly #spare: Flight[] = [];

  constructor(owner: FlightOwner) {
    this.#owner = owner;
  }

  /** One for the question of a client's query, which has this key, to these servers. */
  take(query: Query, key: QuestionKey, group: ServerGroup): Flight {
    const flight = this.#spare.pop() ?? new Flight(this.#owner);
    flight.begin(query, key, group);
    return flight;
  }

  /** Takes one that has ended and answered all, unless something may still refer to it. */
  give(flight: Flight): void {
    if (this.#spare.length < MAX_SPARE && flight.release()) this.#spare.push(flight);
  }
}
