import type { Query } from '@kube-dns/wire';
import type { Client } from '../answerer.js';
import type { Flight } from './flight.js';
import type { QuestionKey } from './question-key.js';
import type { Waiter } from './waiter.js';

/**
 * Flights of one name and type that wait for replies at the same time, whatever else differs: each has IDs and
 * ports of its own, and one more that a forged reply could hit.
 */
const MAX_OPEN = 4;
/** Flights of one name and type that wait until one of those ends. */
const MAX_QUEUED = 64;
const FIRST_BUCKETS = 64;

const NONE: readonly Waiter[] = [];

/** The flights: questions in flight, and questions that only wait for a late reply. */
export class FlightTable {
  /** By the hash of the question: the first flight of a bucket, the oldest, which names the `next` one. */
  #buckets = new Array<Flight | undefined>(FIRST_BUCKETS).fill(undefined);
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
    for (let each = this.#oldest(key.hash); each !== undefined; each = each.next) {
      if (each.asked.isShared && key.isOf(each.asked) && each.asked.isNamedBy(key)) return each;
    }
    return undefined;
  }

  /** Adds a new flight, which is queued while there are too many of its question; false when no more can queue. */
  add(flight: Flight): boolean {
    let open = 0;
    let queued = 0;
    let lingering: Flight | undefined;
    for (let each = this.#oldest(flight.asked.hash); each !== undefined; each = each.next) {
      if (!each.asked.isNamedAs(flight.asked)) continue;
      if (each.isQueued) queued++;
      else open++;
      if (!each.isCounted) lingering ??= each;
    }
    if (queued >= MAX_QUEUED) return false;
    flight.hasSibling = open > 0;
    // One that only waits for a late reply makes room for a new one.
    flight.isQueued = open >= MAX_OPEN && lingering === undefined;
    if (open >= MAX_OPEN && lingering !== undefined) this.drop(lingering);
    if (this.#flights.length >= this.#buckets.length) this.#grow();
    this.#link(flight);
    flight.place = this.#flights.push(flight) - 1;
    return true;
  }

  /** Counts a flight as in flight. */
  count(flight: Flight): void {
    flight.isCounted = true;
    flight.group.load.asked.add(flight.client, flight.taken, this.#limit);
    this.#inFlight++;
  }

  /** The flight only waits for a late reply from now on. */
  uncount(flight: Flight): void {
    if (!flight.isCounted) return;
    flight.isCounted = false;
    flight.group.load.asked.remove(flight.taken);
    this.#inFlight--;
  }

  /** Adds a waiter. */
  join(flight: Flight, waiter: Waiter): void {
    waiter.flight = flight;
    const isFirst = flight.waiters.push(waiter) === 1;
    if (isFirst) this.#pass(flight, waiter.client);
    else flight.group.load.joined.add(waiter.client, waiter.taken, this.#limit);
  }

  /** Whether a query is the retransmission of a client that waits for a flight. */
  isAskedAgain(flight: Flight, query: Query, client: Client): boolean {
    for (const waiter of flight.waiters) if (waiter.isAskingAgain(query, client)) return true;
    return false;
  }

  /** The waiters of a flight that ends give back their places; they stay in its list. */
  leaveAll({ waiters }: Flight): void {
    for (const waiter of waiters) this.#leave(waiter);
  }

  /** Removes the first `count` waiters and returns them; the next one takes over the place of the question. */
  leave(flight: Flight, count: number): readonly Waiter[] {
    const gone = flight.waiters.splice(0, count);
    for (const waiter of gone) this.#leave(waiter);
    const [first] = flight.waiters;
    if (first === undefined) return gone;
    this.#leave(first);
    this.#pass(flight, first.client);
    return gone;
  }

  /** Removes a waiter that is not the first of its flight, and returns the flight. */
  remove(waiter: Waiter): Flight {
    const flight = waiter.flight!;
    this.#leave(waiter);
    flight.waiters.splice(flight.waiters.indexOf(waiter), 1);
    return flight;
  }

  /** Removes the waiters of a flight that have expired answers. */
  takeStale(flight: Flight): readonly Waiter[] {
    const stale = flight.waiters.filter((waiter) => waiter.stale !== undefined);
    if (stale.length === flight.waiters.length) return this.leave(flight, stale.length);
    for (const waiter of stale) {
      if (waiter === flight.waiters[0]) this.leave(flight, 1);
      else this.remove(waiter);
    }
    return stale;
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
    return this.#unlink(flight);
  }

  /** Whether a flight that no client waits for may wait for a late reply, which is cached. */
  mayLinger(flight: Flight): boolean {
    const isRoom = this.#flights.length - this.#inFlight < this.#limit;
    const { asked, isQueued, isOverTcp } = flight;
    return isRoom && asked.isShared && !isQueued && !isOverTcp && !this.hasQueued(flight);
  }

  /** Whether every question that was in flight at this time has ended. */
  areSettled(sinceMs: number): boolean {
    return this.#flights.every((each) => !each.isCounted || each.startedAtMs > sinceMs);
  }

  /** Whether a flight of the same question is queued. */
  hasQueued(flight: Flight): boolean {
    for (let each = this.#oldest(flight.asked.hash); each !== undefined; each = each.next) {
      if (each.isQueued && each.asked.isNamedAs(flight.asked)) return true;
    }
    return false;
  }

  /** From now on no client joins the flights that there are, or those of names at or below a domain. */
  forgetKeys(domain: Uint8Array): void {
    for (const { asked } of this.#flights) if (asked.isBelow(domain)) asked.isShared = false;
  }

  /** A waiter gives back the place that it has beside the question's. */
  #leave(waiter: Waiter): void {
    waiter.flight!.group.load.joined.remove(waiter.taken);
  }

  /** Gives the place of a question to a client. */
  #pass(flight: Flight, client: string): void {
    if (flight.client === client) return;
    flight.client = client;
    if (!flight.isCounted) return;
    flight.group.load.asked.remove(flight.taken);
    flight.group.load.asked.add(client, flight.taken, this.#limit);
  }

  #bucketOf(hash: number): number {
    return hash & (this.#buckets.length - 1);
  }

  #oldest(hash: number): Flight | undefined {
    return this.#buckets[this.#bucketOf(hash)];
  }

  #link(flight: Flight): void {
    const oldest = this.#oldest(flight.asked.hash);
    if (oldest === undefined) {
      this.#buckets[this.#bucketOf(flight.asked.hash)] = flight;
      return;
    }
    let last = oldest;
    while (last.next !== undefined) last = last.next;
    last.next = flight;
  }

  /** Removes a flight from its bucket; returns a queued one of the same question that may start now. */
  #unlink(flight: Flight): Flight | undefined {
    let before: Flight | undefined;
    let open = 0;
    let queued: Flight | undefined;
    for (let each = this.#oldest(flight.asked.hash); each !== undefined; each = each.next) {
      if (each.next === flight) before = each;
      if (each === flight || !each.asked.isNamedAs(flight.asked)) continue;
      if (each.isQueued) queued ??= each;
      else open++;
    }
    if (before === undefined) this.#buckets[this.#bucketOf(flight.asked.hash)] = flight.next;
    else before.next = flight.next;
    flight.next = undefined;
    return open >= MAX_OPEN ? undefined : queued;
  }

  #grow(): void {
    const buckets = this.#buckets;
    this.#buckets = new Array<undefined>(buckets.length * 2).fill(undefined);
    for (const oldest of buckets) {
      for (let each = oldest; each !== undefined;) {
        const { next } = each;
        each.next = undefined;
        this.#link(each);
        each = next;
      }
    }
  }
}
