import { RCODE } from '@kube-dns/wire';
import { TOO_MANY_WAITING } from './failure.js';
import type { Flight } from './flight.js';
import type { FlightTable } from './flight-table.js';
import type { ServerGroup } from './server-group.js';
import type { Waiter } from './waiter.js';

/** What the admission needs of the forwarder. */
export interface AdmissionOwner {
  /** A waiter had to give its place to another client and was refused. */
  onDisplaced(group: ServerGroup): void;
  /** No client waits for this flight any more. */
  onForsaken(flight: Flight): void;
}

/** Lets clients and questions in while there is a place, or a client that has many gives one. */
export class Admission {
  readonly #flights: FlightTable;
  readonly #limit: number;
  readonly #owner: AdmissionOwner;

  /** `limit` is for the questions of a group, and for the clients that joined them. */
  constructor(flights: FlightTable, limit: number, owner: AdmissionOwner) {
    this.#flights = flights;
    this.#limit = limit;
    this.#owner = owner;
  }

  /** Whether a client, by its address, may join a question in flight, or else ask a new one. */
  hasPlace(client: string, known: Flight | undefined, group: ServerGroup): boolean {
    return known?.isCounted === true
      ? this.#canJoin(client, known.group)
      : this.#canAsk(client, group);
  }

  #canJoin(client: string, { load }: ServerGroup): boolean {
    if (load.joiners < this.#limit) return true;
    const displaced = load.joined.displacedBy(client);
    if (displaced === undefined) return false;
    this.#refuse(displaced, this.#flights.remove(displaced));
    return true;
  }

  #canAsk(client: string, { load }: ServerGroup): boolean {
    while (load.questions >= this.#limit) {
      const displaced = load.asked.displacedBy(client);
      if (displaced === undefined) return false;
      // Where clients of another address wait, too, one of them has the place now.
      const own = displaced.waiters.findIndex((waiter) => waiter.client !== displaced.client);
      const count = own < 0 ? displaced.waiters.length : own;
      for (const waiter of this.#flights.leave(displaced, count)) this.#refuse(waiter, displaced);
      if (displaced.waiters.length === 0) this.#owner.onForsaken(displaced);
    }
    return true;
  }

  #refuse(waiter: Waiter, { group }: Flight): void {
    waiter.fail(TOO_MANY_WAITING, RCODE.REFUSED);
    this.#owner.onDisplaced(group);
  }
}
