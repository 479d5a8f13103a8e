import {
  AnswerWriter,
  encodeRefusal,
  EXTENDED_ERROR,
  MAX_MESSAGE_BYTES,
  Query,
  RCODE,
  RecordCursor,
  relayTargetOf,
} from '@kube-dns/wire';
import { type Client, NO_ANSWER_YET } from '../answerer.js';
import { Flight, type FlightOwner, type ReplyInspector } from './flight.js';
import { FlightTable } from './flight-table.js';
import { copyForUpstream } from './query-copy.js';
import { QuestionKey } from './question-key.js';
import type { RetryPlan } from './retry-plan.js';
import type { ServerGroup } from './server-group.js';
import { type AskCallback, CallbackWaiter, ClientWaiter, type Waiter } from './waiter.js';

export interface QueryForwarderOptions {
  /** Questions in flight per group of servers, and clients that joined them; beyond, REFUSED. */
  readonly maxInFlight: number;
  readonly plan: RetryPlan;
  /** How many source ports one question uses per server; 1 by default. */
  readonly portLimit?: number;
  /** The largest UDP answer that servers are asked for, in bytes. */
  readonly maxUdpBytes: number;
  /** AD stays as the server set it; it is cleared by default. */
  readonly passesAd?: boolean;
  /** What a client gets when its question cannot be sent to any server; REFUSED by default. */
  readonly unsentRcode?: number;
  /** Called for each query that is refused because too many are in flight. */
  readonly onOverflow?: (group: ServerGroup) => void;
  /** Milliseconds that never fall; the clock of the process by default. */
  readonly now?: () => number;
}

/** The one timer of all questions. */
const TICK_MS = 50;
/** dnsmasq src/forward.c: a duplicate after this time makes us ask again. */
const REPEAT_AFTER_MS = 2_000;
/** A late reply can still be cached, and answers a client that asks again. */
const LINGER_MS = 10_000;

/**
 * Forwards questions to groups of servers and their replies to all clients with the same question. Every
 * client gets an answer within the time-out; what is in flight is bounded per group.
 */
export class QueryForwarder implements FlightOwner {
  /** Questions forwarded, alone or joined to an equal one in flight. */
  forwarded = 0;
  /** Queries over UDP that made us send a query upstream (dnsmasq's `misses`). */
  sentForUdp = 0;
  /** Queries that joined a question in flight; some of them made us send it again. */
  joined = 0;
  /** Queries refused because too many were in flight. */
  overflows = 0;
  /** Questions that no server answered; the client got SERVFAIL. */
  failures = 0;
  readonly plan: RetryPlan;
  readonly portLimit: number;
  readonly cursor = new RecordCursor();
  readonly #options: QueryForwarderOptions;
  readonly #passesAd: boolean;
  readonly #key = new QuestionKey();
  readonly #flights = new FlightTable();
  readonly #writer = new AnswerWriter();
  /** A question of the program itself, while it is read. */
  readonly #own = new Query();
  #timer: NodeJS.Timeout | undefined;
  readonly #onIdle = new Set<() => void>();

  constructor(options: QueryForwarderOptions) {
    this.#options = options;
    this.plan = options.plan;
    this.portLimit = options.portLimit ?? 1;
    this.#passesAd = options.passesAd ?? false;
  }

  /** Questions in flight. */
  get inFlight(): number {
    return this.#flights.inFlight;
  }

  /** Flights: questions in flight, and questions that only wait for a late reply. */
  get remembered(): number {
    return this.#flights.all.length;
  }

  now(): number {
    return this.#options.now?.() ?? performance.now();
  }

  /**
   * Forwards a query and answers its client later, or writes a refusal into `out` immediately. Returns
   * what an Answerer returns. `inspector` gets the reply before the clients do.
   */
  forward(
    query: Query,
    out: Uint8Array,
    client: Client,
    group: ServerGroup,
    inspector?: ReplyInspector,
  ): number {
    const known = this.#find(query);
    if (known?.waiters.some((waiter) => waiter.isAskingAgain(query, client)) === true) {
      known.sendAgain();
      this.sentForUdp++;
      return NO_ANSWER_YET;
    }
    if (this.#isFull(known, group)) return this.#refuseOverflow(query, out, group);
    const flight = this.#joinOrLaunch(query, known, group, inspector);
    if (flight === undefined) return this.#refuseUnsent(query, out);
    this.forwarded++;
    flight.waiters.push(new ClientWaiter(query, client, flight.deadlineMs, this.#passesAd));
    return NO_ANSWER_YET;
  }

  /**
   * Asks servers a question of the program itself, a whole query, and calls back later, within the
   * time-out; it joins an equal one in flight. False, and no call, when too many are in flight or no
   * server can be reached.
   */
  ask(message: Uint8Array, group: ServerGroup, done: AskCallback): boolean {
    const query = this.#own;
    if (query.read(message, message.length, false, MAX_MESSAGE_BYTES) !== 'answer') return false;
    const known = this.#find(query);
    if (this.#isFull(known, group)) return false;
    const flight = this.#joinOrLaunch(query, known, group);
    if (flight === undefined) return false;
    this.forwarded++;
    flight.waiters.push(new CallbackWaiter(flight.deadlineMs, done));
    return true;
  }

  /** Asks a question for which no client waits, unless it is in flight or the limit is reached. */
  refresh(query: Query, group: ServerGroup, inspector: ReplyInspector): void {
    const known = this.#find(query);
    if (known?.isCounted === true || this.#isFull(known, group)) return;
    this.#joinOrLaunch(query, known, group, inspector);
  }

  /** The servers have changed: replies to questions in flight go to their clients, but not to a cache. */
  forgetQuestions(): void {
    this.#flights.forgetKeys();
    for (const flight of this.#flights.all) flight.isCacheable = false;
  }

  /** Resolves when every question that is in flight now is answered; bounded by the time-out. */
  async settle(): Promise<void> {
    const sinceMs = this.now();
    const isSettled = () =>
      this.#flights.all.every(({ isCounted, startedAtMs }) => !isCounted || startedAtMs > sinceMs);
    while (!isSettled()) await new Promise<void>((resolve) => this.#onIdle.add(resolve));
  }

  /** Ends every question; waiting clients get no answer. May be called twice. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const flight of [...this.#flights.all]) {
      for (const waiter of flight.waiters.splice(0)) waiter.abandon();
      this.#flights.drop(flight);
    }
    this.#notifyIdle();
  }

  /** For a flight: it has its reply. */
  finish(flight: Flight, reply: Buffer | null): void {
    const waiters = flight.waiters.splice(0);
    this.#flights.drop(flight);
    const last = waiters.length - 1;
    flight.group.load.joiners -= Math.max(0, last);
    waiters.forEach((waiter, i) => {
      // Each waiter changes its message in place.
      this.#answer(waiter, reply !== null && i < last ? Buffer.from(reply) : reply);
    });
  }

  /** The flight of the same question, if there is one. */
  #find(query: Query): Flight | undefined {
    return this.#key.fill(query) ? this.#flights.find(this.#key) : undefined;
  }

  /** Whether a limit is reached: that of joined clients for a question in flight, else that of questions. */
  #isFull(known: Flight | undefined, group: ServerGroup): boolean {
    const { maxInFlight } = this.#options;
    if (known?.isCounted === true) return known.group.load.joiners >= maxInFlight;
    return group.load.questions >= maxInFlight;
  }

  /** The question in flight, with the whole time-out before it; undefined when it cannot be sent. */
  #joinOrLaunch(
    query: Query,
    known: Flight | undefined,
    group: ServerGroup,
    inspector?: ReplyInspector,
  ): Flight | undefined {
    const nowMs = this.now();
    const deadlineMs = nowMs + this.plan.timeoutMs;
    if (known?.isCounted === true) {
      this.#join(known, query, nowMs);
      known.deadlineMs = deadlineMs;
      known.inspector ??= inspector;
      return known;
    }
    const flight = known ?? this.#createFlight(query, group);
    flight.inspector = inspector;
    if (!flight.start(nowMs, deadlineMs)) {
      this.#flights.drop(flight);
      return undefined;
    }
    this.#flights.count(flight);
    this.#timer ??= setInterval(() => this.tick(), TICK_MS).unref();
    if (!query.isOverTcp) this.sentForUdp++;
    return flight;
  }

  #createFlight(query: Query, group: ServerGroup): Flight {
    const copy = copyForUpstream(query, this.#options.maxUdpBytes, this.cursor);
    return new Flight(this, group, copy, this.#key.copy(), query.isOverTcp);
  }

  #join(flight: Flight, query: Query, nowMs: number): void {
    if (flight.waiters.length > 0) flight.group.load.joiners++;
    this.joined++;
    if (nowMs - flight.startedAtMs < REPEAT_AFTER_MS) return;
    flight.repeat();
    if (!query.isOverTcp) this.sentForUdp++;
  }

  /** Does what is due; called by the timer, or by a test with its own clock. */
  tick(): void {
    const nowMs = this.now();
    const { all } = this.#flights;
    for (let i = all.length - 1; i >= 0; i--) {
      const flight = all[i];
      if (flight === undefined) continue;
      this.#expireWaiters(flight, nowMs);
      if (!flight.isCounted) {
        if (nowMs - flight.deadlineMs >= LINGER_MS) this.#flights.drop(flight);
      } else if (nowMs >= flight.deadlineMs) this.#linger(flight);
      else flight.tick(nowMs);
    }
    this.#notifyIdle();
    if (all.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Waiters are in order of their deadlines. */
  #expireWaiters(flight: Flight, nowMs: number): void {
    const { waiters } = flight;
    let expired = 0;
    while (expired < waiters.length && waiters[expired]!.deadlineMs <= nowMs) expired++;
    if (expired === 0) return;
    const before = Math.max(0, waiters.length - 1);
    const gone = waiters.splice(0, expired);
    flight.group.load.joiners -= before - Math.max(0, waiters.length - 1);
    for (const waiter of gone) this.#answer(waiter, flight.fallback());
  }

  /** No client waits any more; a late reply may still come. */
  #linger(flight: Flight): void {
    const isRoom = this.remembered - this.inFlight < this.#options.maxInFlight;
    if (flight.key === undefined || flight.isOverTcp || !isRoom) this.#flights.drop(flight);
    else this.#flights.uncount(flight);
  }

  #answer(waiter: Waiter, reply: Buffer | null): void {
    if (reply !== null) {
      waiter.answer(reply, this.cursor);
      return;
    }
    this.failures++;
    waiter.fail();
  }

  #refuseOverflow(query: Query, out: Uint8Array, group: ServerGroup): number {
    this.overflows++;
    this.#options.onOverflow?.(group);
    const refusal = encodeRefusal(relayTargetOf(query), RCODE.REFUSED);
    out.set(refusal);
    return refusal.length;
  }

  #refuseUnsent(query: Query, out: Uint8Array): number {
    const rcode = this.#options.unsentRcode ?? RCODE.REFUSED;
    if (rcode === RCODE.SERVFAIL) this.failures++;
    this.#writer.begin(query, out);
    this.#writer.setRcode(rcode, EXTENDED_ERROR.NETWORK_ERROR);
    return this.#writer.finish();
  }

  #notifyIdle(): void {
    for (const onIdle of this.#onIdle) onIdle();
    this.#onIdle.clear();
  }
}
