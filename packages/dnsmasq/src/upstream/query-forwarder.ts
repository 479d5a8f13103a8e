import type { Log } from '@kube-dns/daemon';
import { type Client, NO_ANSWER_YET } from '@kube-dns/transport';
import {
  AnswerWriter,
  encodeRefusal,
  EXTENDED_ERROR,
  NameTable,
  type Query,
  RCODE,
  relayTargetOf,
} from '@kube-dns/wire';
import { Flight, type FlightOwner, type ReplySight } from './flight.js';
import { copyForUpstream } from './query-copy.js';
import { QuestionKey } from './question-key.js';
import type { RetryPlan } from './retry-plan.js';
import type { ServerGroup } from './server-group.js';
import { Waiter } from './waiter.js';

export interface QueryForwarderOptions {
  /** Questions under way per group of servers, and clients that joined them; beyond, REFUSED. */
  readonly maxInFlight: number;
  readonly plan: RetryPlan;
  /** As many ports as one question leaves from to each server; 1 unless said otherwise. */
  readonly portLimit?: number;
  /** The largest UDP answer that servers are asked for, in bytes. */
  readonly maxUdpBytes: number;
  /** AD is passed on as the server set it; it is cleared unless said otherwise. */
  readonly passesAd?: boolean;
  readonly log: Log;
  /** Milliseconds that never fall; the process's own clock unless said otherwise. */
  readonly now?: () => number;
}

/** The one timer of all questions. */
const TICK_MS = 50;
/** dnsmasq src/forward.c: a duplicate that comes later than this makes us ask again. */
const REPEAT_AFTER_MS = 2_000;
/** A late reply is still good for the cache, and for who asks again. */
const LINGER_MS = 10_000;
/** dnsmasq src/forward.c, query_full. */
const LOG_EVERY_MS = 5_000;

/**
 * Passes questions on to groups of servers and their answers back to all who asked the same. Every
 * client gets an answer within the time-out; what is under way is bounded per group.
 */
export class QueryForwarder implements FlightOwner {
  /** Queries over UDP that made us send something upstream (dnsmasq's `misses`). */
  sentForUdp = 0;
  /** Queries that joined a question under way; some of them made us send it again. */
  joined = 0;
  /** Queries refused because too much was under way. */
  overflows = 0;
  /** Clients that got SERVFAIL because no server had an answer in time. */
  failures = 0;
  readonly plan: RetryPlan;
  readonly portLimit: number;
  readonly #options: QueryForwarderOptions;
  readonly #passesAd: boolean;
  readonly #key = new QuestionKey();
  readonly #byKey = new NameTable<Flight>();
  readonly #flights: Flight[] = [];
  readonly #writer = new AnswerWriter();
  #active = 0;
  #timer: NodeJS.Timeout | undefined;
  #loggedAtMs = Number.NEGATIVE_INFINITY;
  readonly #onIdle = new Set<() => void>();

  constructor(options: QueryForwarderOptions) {
    this.#options = options;
    this.plan = options.plan;
    this.portLimit = options.portLimit ?? 1;
    this.#passesAd = options.passesAd ?? false;
  }

  /** Questions under way. */
  get inFlight(): number {
    return this.#active;
  }

  /** Questions that are remembered: those under way, and those that only wait for a late reply. */
  get remembered(): number {
    return this.#flights.length;
  }

  now(): number {
    return this.#options.now?.() ?? performance.now();
  }

  /**
   * Passes a query on and answers its client later, or writes a refusal into `out` at once. Returns
   * what an Answerer returns. `sight` sees the reply before the clients do.
   */
  forward(
    query: Query,
    out: Uint8Array,
    client: Client,
    group: ServerGroup,
    sight?: ReplySight,
  ): number {
    const isMergeable = this.#key.fill(query);
    const known = isMergeable ? this.#byKey.get(this.#key.bytes, 0, this.#key.length) : undefined;
    if (known?.isCounted === true) return this.#join(known, query, out, client);
    if (group.inFlight >= this.#options.maxInFlight) return this.#refuseOverflow(query, out, group);
    const flight = known ?? this.#createFlight(query, group, isMergeable);
    flight.sight = sight;
    const nowMs = this.now();
    if (!this.#launch(flight, nowMs)) return this.#refuseUnsent(query, out);
    if (!query.isOverTcp) this.sentForUdp++;
    flight.waiters.push(new Waiter(query, client, nowMs + this.plan.timeoutMs, this.#passesAd));
    return NO_ANSWER_YET;
  }

  /** Asks a question for which nobody waits, unless it is under way or there is no room for it. */
  refresh(query: Query, group: ServerGroup, sight: ReplySight): void {
    const isMergeable = this.#key.fill(query);
    const known = isMergeable ? this.#byKey.get(this.#key.bytes, 0, this.#key.length) : undefined;
    if (known?.isCounted === true || group.inFlight >= this.#options.maxInFlight) return;
    const flight = known ?? this.#createFlight(query, group, isMergeable);
    flight.sight = sight;
    if (this.#launch(flight, this.now()) && !query.isOverTcp) this.sentForUdp++;
  }

  /** The servers have changed: replies to what is under way are for those who asked, and no cache. */
  forgetQuestions(): void {
    this.#byKey.clear();
    for (const flight of this.#flights) flight.mayKeep = false;
  }

  /** Resolves when every question that is under way now is answered; bounded by the time-out. */
  async settle(): Promise<void> {
    const sinceMs = this.now();
    const isSettled = () =>
      this.#flights.every(({ isCounted, startedAtMs }) => !isCounted || startedAtMs > sinceMs);
    while (!isSettled()) await new Promise<void>((resolve) => this.#onIdle.add(resolve));
  }

  /** Ends what is under way; who still waits gets no answer. May be called twice. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const flight of [...this.#flights]) {
      for (const waiter of flight.waiters.splice(0)) waiter.abandon();
      this.#drop(flight);
    }
    this.#tellIdle();
  }

  /** For a flight: it has its reply. */
  land(flight: Flight, reply: Buffer | null): void {
    const waiters = flight.waiters.splice(0);
    this.#drop(flight);
    const last = waiters.length - 1;
    flight.group.joiners -= Math.max(0, last);
    waiters.forEach((waiter, i) => {
      // Each changes the message that it passes on.
      this.#answer(waiter, reply !== null && i < last ? Buffer.from(reply) : reply);
    });
  }

  #createFlight(query: Query, group: ServerGroup, isMergeable: boolean): Flight {
    const copy = copyForUpstream(query, this.#options.maxUdpBytes);
    const key = isMergeable ? this.#key.bytes.slice(0, this.#key.length) : undefined;
    return new Flight(this, group, copy, key, query.isOverTcp);
  }

  #launch(flight: Flight, nowMs: number): boolean {
    if (!flight.start(nowMs, nowMs + this.plan.timeoutMs)) {
      if (flight.place >= 0) this.#drop(flight);
      else flight.cancel();
      return false;
    }
    if (flight.place < 0) {
      flight.place = this.#flights.push(flight) - 1;
      if (flight.key !== undefined) this.#byKey.set(flight.key, flight);
    }
    flight.isCounted = true;
    flight.group.inFlight++;
    this.#active++;
    this.#timer ??= setInterval(() => this.tick(), TICK_MS).unref();
    return true;
  }

  #join(flight: Flight, query: Query, out: Uint8Array, client: Client): number {
    const nowMs = this.now();
    if (flight.waiters.some((waiter) => waiter.isAskingAgain(query, client))) {
      flight.sendAgain();
      this.sentForUdp++;
      return NO_ANSWER_YET;
    }
    if (flight.group.joiners >= this.#options.maxInFlight) {
      return this.#refuseOverflow(query, out, flight.group);
    }
    if (flight.waiters.length > 0) flight.group.joiners++;
    this.joined++;
    if (nowMs - flight.startedAtMs >= REPEAT_AFTER_MS) {
      flight.repeat();
      if (!query.isOverTcp) this.sentForUdp++;
    }
    flight.deadlineMs = nowMs + this.plan.timeoutMs;
    flight.waiters.push(new Waiter(query, client, flight.deadlineMs, this.#passesAd));
    return NO_ANSWER_YET;
  }

  /** Does what is due; called by the timer, or by a test with a clock of its own. */
  tick(): void {
    const nowMs = this.now();
    // From the end: a flight that goes leaves its place to the last one.
    for (let i = this.#flights.length - 1; i >= 0; i--) {
      const flight = this.#flights[i];
      if (flight === undefined) continue;
      this.#expireWaiters(flight, nowMs);
      if (!flight.isCounted) {
        if (nowMs - flight.deadlineMs >= LINGER_MS) this.#drop(flight);
      } else if (nowMs >= flight.deadlineMs) this.#linger(flight);
      else flight.tick(nowMs);
    }
    this.#tellIdle();
    if (this.#flights.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** The first waiter came first, so it is the first to give up. */
  #expireWaiters(flight: Flight, nowMs: number): void {
    const { waiters } = flight;
    let expired = 0;
    while (expired < waiters.length && waiters[expired]!.deadlineMs <= nowMs) expired++;
    if (expired === 0) return;
    const before = Math.max(0, waiters.length - 1);
    const gone = waiters.splice(0, expired);
    flight.group.joiners -= before - Math.max(0, waiters.length - 1);
    for (const waiter of gone) this.#answer(waiter, flight.fallback());
  }

  /** Nobody waits any more; a late reply may still come. */
  #linger(flight: Flight): void {
    const isRoom = this.#flights.length - this.#active < this.#options.maxInFlight;
    if (flight.key === undefined || flight.isOverTcp || !isRoom) this.#drop(flight);
    else this.#uncount(flight);
  }

  #drop(flight: Flight): void {
    flight.cancel();
    this.#uncount(flight);
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

  #uncount(flight: Flight): void {
    if (!flight.isCounted) return;
    flight.isCounted = false;
    flight.group.inFlight--;
    this.#active--;
  }

  #answer(waiter: Waiter, reply: Buffer | null): void {
    if (reply !== null) {
      waiter.answer(reply);
      return;
    }
    this.failures++;
    waiter.fail();
  }

  #refuseOverflow(query: Query, out: Uint8Array, { domain }: ServerGroup): number {
    this.overflows++;
    const nowMs = this.now();
    if (nowMs - this.#loggedAtMs > LOG_EVERY_MS) {
      this.#loggedAtMs = nowMs;
      const { log, maxInFlight } = this.#options;
      const target = domain === '.' ? '' : ` to ${domain}`;
      log.warn(`Maximum number of concurrent DNS queries${target} reached (max: ${maxInFlight})`);
    }
    const refusal = encodeRefusal(relayTargetOf(query), RCODE.REFUSED);
    out.set(refusal);
    return refusal.length;
  }

  #refuseUnsent(query: Query, out: Uint8Array): number {
    this.#writer.begin(query, out);
    this.#writer.setRcode(RCODE.REFUSED, EXTENDED_ERROR.NETWORK_ERROR);
    return this.#writer.finish();
  }

  #tellIdle(): void {
    for (const tell of this.#onIdle) tell();
    this.#onIdle.clear();
  }
}
