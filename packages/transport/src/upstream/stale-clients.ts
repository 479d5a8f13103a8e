import { FLAG, RCODE, RCODE_MASK, readUint16 } from '@kube-dns/wire';
import { type Client, SOURCE } from '../answerer.js';
import type { Flight } from './flight.js';
import type { FlightTable } from './flight-table.js';

/**
 * Why a client got an expired answer: its question took too long, had no usable reply, or is known to have none
 * now.
 */
export type StaleReason = 'timeout' | 'failure' | 'known';

/** An expired answer for one client, which gets it unless there is a usable reply in time. */
export interface StaleAnswer {
  /** The whole message for this client. */
  readonly message: Uint8Array;
  /** The client gets it now. */
  onGiven(reason: StaleReason): void;
}

/** When clients get expired answers (RFC 8767 section 5). */
export interface StaleRules {
  /** How long a client waits for a reply that has one. */
  readonly timeoutMs: number;
  /**
   * A question (name in lower case, type, class) was asked in vain, at this time: its reply is late, or there is none.
   * `isSilent`: its servers may have been away; else they had a reply to others, or one that is of no use.
   */
  onTried(question: Uint8Array, atMs: number, isSilent: boolean): void;
}

/** A flight with clients that have expired answers. */
interface Watched {
  readonly flight: Flight;
  dueAtMs: number;
  /** These clients do not wait any more. */
  isLate: boolean;
  /** It was sent once more after its servers had replied to others. */
  isRepeated: boolean;
}

/** The questions whose clients have expired answers. All wait equally long, so one timer is enough. */
export class StaleClients {
  readonly #rules: StaleRules;
  readonly #now: () => number;
  readonly #flights: FlightTable;
  /** In order of time; some may have ended. */
  readonly #due: Watched[] = [];
  readonly #byFlight = new WeakMap<Flight, Watched>();
  #timer: NodeJS.Timeout | undefined;

  constructor(rules: StaleRules, flights: FlightTable, now: () => number) {
    this.#rules = rules;
    this.#flights = flights;
    this.#now = now;
  }

  /** A client of a question has an expired answer. */
  watch(flight: Flight): void {
    const known = this.#byFlight.get(flight);
    if (known?.isLate === false) return;
    const watched = known ?? { flight, dueAtMs: 0, isLate: false, isRepeated: false };
    watched.isLate = false;
    watched.dueAtMs = this.#now() + this.#rules.timeoutMs;
    flight.isKept = true;
    this.#byFlight.set(flight, watched);
    this.#due.push(watched);
    this.#timer ??= this.#startTimer(this.#rules.timeoutMs);
  }

  /**
   * Whether a client with an expired answer need not wait for a question in flight: others waited long enough. It is
   * sent once more, and waited for again, for the first client after its servers had replied to others.
   */
  isLate(flight: Flight | undefined): boolean {
    const watched = flight?.isCounted === true ? this.#byFlight.get(flight) : undefined;
    if (watched?.isLate !== true) return false;
    const { group, startedAtMs } = watched.flight;
    if (watched.isRepeated || group.repliedAtMs <= startedAtMs) return true;
    watched.isRepeated = watched.flight.sendAgain(this.#now());
    return !watched.isRepeated;
  }

  /** Does what is due. */
  tick(): void {
    const nowMs = this.#now();
    while (this.#due.length > 0 && this.#due[0]!.dueAtMs <= nowMs) {
      const watched = this.#due.shift()!;
      const { flight } = watched;
      if (!flight.isCounted || this.#byFlight.get(flight) !== watched) continue;
      this.#give(watched, null);
      for (const waiter of this.#flights.takeStale(flight)) waiter.giveStale('timeout');
    }
    this.close();
    const [first] = this.#due;
    if (first !== undefined) this.#timer = this.#startTimer(first.dueAtMs - nowMs);
  }

  /** A question has ended, with a reply or without. */
  noteEnd(flight: Flight, reply: Uint8Array | null): void {
    const watched = this.#byFlight.get(flight);
    if (watched === undefined) return;
    if (!isUsable(reply)) this.#give(watched, reply);
    this.#byFlight.delete(flight);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #give(watched: Watched, reply: Uint8Array | null): void {
    watched.isLate = true;
    const { flight, isRepeated } = watched;
    const isSilent = reply === null && !isRepeated;
    const atMs = isSilent ? flight.startedAtMs : this.#now();
    this.#rules.onTried(flight.asked.copy(), atMs, isSilent);
  }

  #startTimer(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.tick(), Math.max(1, Math.ceil(ms))).unref();
  }
}

/** Writes the expired answer of a client that need not wait; returns its length. */
export function giveNow(stale: StaleAnswer, out: Uint8Array, client: Client): number {
  client.answersFrom(SOURCE.STALE);
  stale.onGiven('known');
  out.set(stale.message);
  return stale.message.length;
}

/** Whether what a question ended with is newer knowledge than an expired answer: records, or that there are none. */
export function isUsable(reply: Uint8Array | null): boolean {
  if (reply === null) return false;
  const flags = readUint16(reply, 2);
  const rcode = flags & RCODE_MASK;
  // A truncated reply is what is left when its rest could not be fetched.
  return (flags & FLAG.TC) === 0 && (rcode === RCODE.NOERROR || rcode === RCODE.NXDOMAIN);
}
