import { NameTable } from '@kube-dns/wire';
import type { Flight } from './flight.js';
import type { QuestionKey } from './question-key.js';
import type { Waiter } from './waiter.js';

/**
 * Flights of one name, type and class that wait for replies at the same time, whatever else differs: each has IDs and
 * ports of its own, and one more that a forged reply could hit.
 */
const MAX_OPEN = 4;
/** Flights of one name, type and class that wait until one of those ends. */
const MAX_QUEUED = 64;

const NONE: readonly Waiter[] = [];

/** The flights: questions in flight, and questions that only wait for a late reply. */
export class FlightTable {
  /** The flights of one name, type and class, oldest first. */
  readonly #byQuestion = new NameTable<Flight[]>();
  /** Each has its index here in `place`; the last one moves to the index of a removed one. */
  readonly #flights: Flight[] = [];
  /** Questions in flight per group, and clients that joined them. */
  readonly #limit: number;
  #inFlight = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** How many are in flight, those that are queued included. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** All flights; a loop from the end to the beginning may drop them. */
  get all(): readonly Flight[] {
    return this.#flights;
  }

  /** The flight that others with this key may join. */
  find(key: QuestionKey): Flight | undefined {
    const same = this.#byQuestion.get(key.question, 0, key.length);
    if (same === undefined) return undefined;
    for (const flight of same) if (flight.isShared && key.isOf(flight.key)) return flight;
    return undefined;
  }

  /** Adds a new flight, which is queued while there are too many of its question; false when no more can queue. */
  add(flight: Flight): boolean {
    const { question } = flight.key;
    const same = this.#byQuestion.get(question, 0, question.length);
    if (same === undefined) this.#byQuestion.set(question, [flight]);
    else {
      const queued = countQueued(same);
      if (queued >= MAX_QUEUED) return false;
      flight.isQueued = same.length - queued >= MAX_OPEN && !this.#dropLingering(same);
      same.push(flight);
    }
    flight.place = this.#flights.push(flight) - 1;
    return true;
  }

  /** Counts a flight as in flight. */
  count(flight: Flight): void {
    flight.isCounted = true;
    flight.group.load.asked.add(flight.client, flight, this.#limit);
    this.#inFlight++;
  }

  /** The flight only waits for a late reply from now on. */
  uncount(flight: Flight): void {
    if (!flight.isCounted) return;
    flight.isCounted = false;
    flight.group.load.asked.remove(flight.client, flight);
    this.#inFlight--;
  }

  /** Adds a waiter. */
  join(flight: Flight, waiter: Waiter): void {
    waiter.flight = flight;
    const isFirst = flight.waiters.push(waiter) === 1;
    if (isFirst) this.#pass(flight, waiter.client);
    else flight.group.load.joined.add(waiter.client, waiter, this.#limit);
  }

  /** Removes the first `count` waiters and returns them; the next one takes over the place of the question. */
  leave(flight: Flight, count: number): Waiter[] {
    const { joined } = flight.group.load;
    const gone = flight.waiters.splice(0, count);
    for (let i = 1; i < gone.length; i++) joined.remove(gone[i]!.client, gone[i]!);
    const [first] = flight.waiters;
    if (first === undefined) return gone;
    joined.remove(first.client, first);
    this.#pass(flight, first.client);
    return gone;
  }

  /** Removes a waiter that is not the first of its flight, and returns the flight. */
  remove(waiter: Waiter): Flight {
    const flight = waiter.flight!;
    flight.group.load.joined.remove(waiter.client, waiter);
    flight.waiters.splice(flight.waiters.indexOf(waiter), 1);
    return flight;
  }

  /** Gives the place of a question to a client. */
  #pass(flight: Flight, client: string): void {
    if (flight.client === client) return;
    const { asked } = flight.group.load;
    if (flight.isCounted) asked.remove(flight.client, flight);
    flight.client = client;
    if (flight.isCounted) asked.add(client, flight, this.#limit);
  }

  /** Removes the waiters of a flight whose time is over; they are in order of their deadlines. */
  takeExpired(flight: Flight, nowMs: number): readonly Waiter[] {
    const { waiters } = flight;
    let expired = 0;
    while (expired < waiters.length && waiters[expired]!.deadlineMs <= nowMs) expired++;
    return expired === 0 ? NONE : this.leave(flight, expired);
  }

  /** Ends and removes a flight; returns a queued one of the same question that may start now. */
  drop(flight: Flight): Flight | undefined {
    flight.cancel();
    if (flight.place < 0) return undefined;
    this.uncount(flight);
    const last = this.#flights.pop();
    if (last !== undefined && last !== flight) {
      this.#flights[flight.place] = last;
      last.place = flight.place;
    }
    flight.place = -1;
    const { question } = flight.key;
    const same = this.#byQuestion.get(question, 0, question.length);
    if (same === undefined) return undefined;
    if (same.length === 1) {
      this.#byQuestion.delete(question);
      return undefined;
    }
    same.splice(same.indexOf(flight), 1);
    if (same.length - countQueued(same) >= MAX_OPEN) return undefined;
    return same.find(({ isQueued }) => isQueued);
  }

  /** Whether a flight of the same question is queued. */
  hasQueued({ key: { question } }: Flight): boolean {
    const same = this.#byQuestion.get(question, 0, question.length);
    return same !== undefined && countQueued(same) > 0;
  }

  /** From now on no client joins the flights that there are. */
  forgetKeys(): void {
    for (const flight of this.#flights) flight.isShared = false;
  }

  /** A flight that only waits for a late reply makes room for a new one; false when there is none. */
  #dropLingering(same: readonly Flight[]): boolean {
    const lingering = same.find(({ isCounted }) => !isCounted);
    if (lingering === undefined) return false;
    this.drop(lingering);
    return true;
  }
}

function countQueued(flights: readonly Flight[]): number {
  let queued = 0;
  for (const { isQueued } of flights) if (isQueued) queued++;
  return queued;
}
