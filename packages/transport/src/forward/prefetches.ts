import type { Flight } from './flight.js';
import type { ServerGroup } from './server-group.js';
import { isUsable } from './stale-clients.js';

/** Of the questions in flight, at most this share are prefetches; one is always allowed. */
const MAX_SHARE = 0.1;

/** What became of prefetches: a new answer, none, or not sent because there was something better to do. */
export type PrefetchResults = Record<'fresh' | 'failed' | 'dropped', number>;

/** Questions that are asked before a client has to wait for them; they are the last to be sent. */
export class Prefetches {
  readonly results: PrefetchResults = { fresh: 0, failed: 0, dropped: 0 };
  readonly #flights = new Set<Flight>();

  /** Whether one more may be sent, beside so many questions in flight, of which a group may have as many; counted when not. */
  mayAsk({ servers, load }: ServerGroup, inFlight: number, limit: number): boolean {
    const isFew = this.#flights.size < Math.max(1, inFlight * MAX_SHARE);
    const isRoom = isFew && load.questions < limit;
    const isWell = servers.some(({ health }) => !health.isDown && !health.isInDoubt);
    if (!isRoom || !isWell) this.results.dropped++;
    return isRoom && isWell;
  }

  /** A prefetch is in flight; undefined when it could not be sent. */
  add(flight: Flight | undefined): void {
    if (flight === undefined) {
      this.results.dropped++;
      return;
    }
    flight.isKept = true;
    this.#flights.add(flight);
  }

  /** A question has ended; whether it was a prefetch that no client waits for: its failure is none of clients. */
  noteEnd(flight: Flight, reply: Uint8Array | null): boolean {
    if (!this.#flights.delete(flight)) return false;
    this.results[isUsable(reply) ? 'fresh' : 'failed']++;
    return flight.waiters.length === 0;
  }
}
