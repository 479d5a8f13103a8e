import { NameTable } from '@kube-dns/wire';
import type { Flight } from './flight.js';
import type { QuestionKey } from './question-key.js';

/** The flights: questions in flight, and questions that only wait for a late reply. */
export class FlightTable {
  readonly #byKey = new NameTable<Flight>();
  /** Each has its index here in `place`; the last one moves to the index of a removed one. */
  readonly #flights: Flight[] = [];
  #inFlight = 0;

  /** How many are in flight. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** All flights; a loop from the end to the beginning may drop them. */
  get all(): readonly Flight[] {
    return this.#flights;
  }

  /** The flight with this key. */
  find({ bytes, length }: QuestionKey): Flight | undefined {
    return this.#byKey.get(bytes, 0, length);
  }

  /** Counts a flight as in flight, and adds it if it is new. */
  count(flight: Flight): void {
    if (flight.place < 0) {
      flight.place = this.#flights.push(flight) - 1;
      if (flight.key !== undefined) this.#byKey.set(flight.key, flight);
    }
    flight.isCounted = true;
    flight.group.load.questions++;
    this.#inFlight++;
  }

  /** The flight only waits for a late reply from now on. */
  uncount(flight: Flight): void {
    if (!flight.isCounted) return;
    flight.isCounted = false;
    flight.group.load.questions--;
    this.#inFlight--;
  }

  /** Ends and removes a flight. */
  drop(flight: Flight): void {
    flight.cancel();
    if (flight.place < 0) return;
    this.uncount(flight);
    const last = this.#flights.pop();
    if (last !== undefined && last !== flight) {
      this.#flights[flight.place] = last;
      last.place = flight.place;
    }
    flight.place = -1;
    const { key } = flight;
    if (key !== undefined && this.#byKey.get(key, 0, key.length) === flight) {
      this.#byKey.delete(key);
    }
  }

  /** From now on no flight is found by its key. */
  forgetKeys(): void {
    this.#byKey.clear();
  }
}
