import { MAX_MESSAGE_BYTES, Query, RecordCursor, ReplyOutline, ROOT_NAME } from '@kube-dns/wire';
import { type Client, NO_ANSWER_YET } from '../answerer.js';
import { nowMs } from '../batch-clock.js';
import { Admission, type AdmissionOwner } from './admission.js';
import { type Failure, LOOP, TOO_MANY_VARIANTS, TOO_MANY_WAITING } from './failure.js';
import { ExchangeObservers } from './exchange-observer.js';
import type { Flight } from './flight.js';
import { ForwarderCounters } from './forwarder-counters.js';
import type { FlightOwner, ReplyInspector } from './flight-owner.js';
import { FlightTable } from './flight-table.js';
import { IdleSignal } from './idle-signal.js';
import { LoopProbes } from './loop-probes.js';
import { isLost } from './lost-question.js';
import type { QueryForwarderOptions } from './query-forwarder-options.js';
import { QuestionEnds, type QuestionState } from './question-ends.js';
import { QuestionKey } from './question-key.js';
import { RefusalWriter } from './refusal-writer.js';
import type { RetryPlan } from './retry-plan.js';
import type { ServerGroup } from './server-group.js';
import { SpareFlights } from './spare-flights.js';
import { giveNow, type StaleAnswer, StaleClients } from './stale-clients.js';
import { type AddedOptions, NO_OPTIONS, sentFlags } from './upstream-query.js';
import { type AskCallback, CallbackWaiter } from './waiter.js';

const TICK_MS = 50;
/** dnsmasq src/forward.c: a duplicate after this time makes us ask again. */
const REPEAT_AFTER_MS = 2_000;

/**
 * Forwards questions to groups of servers and their replies to all clients with the same question. Every
 * client gets an answer within the time-out; what is in flight is bounded per group.
 */
export class QueryForwarder implements FlightOwner, AdmissionOwner {
  readonly counters = new ForwarderCounters();
  readonly exchanges = new ExchangeObservers();
  readonly refusals: RefusalWriter;
  readonly options: QueryForwarderOptions;
  readonly plan: RetryPlan;
  readonly portLimit: number;
  readonly cursor = new RecordCursor();
  readonly outline = new ReplyOutline();
  readonly now: () => number;
  readonly #key = new QuestionKey();
  readonly #flights: FlightTable;
  readonly #admission: Admission;
  readonly #ends: QuestionEnds;
  readonly #loops = new LoopProbes();
  readonly #stale: StaleClients | undefined;
  readonly #own = new Query();
  readonly #spare = new SpareFlights(this);
  #timer: NodeJS.Timeout | undefined;
  readonly #idle = new IdleSignal();

  constructor(options: QueryForwarderOptions) {
    this.options = options;
    this.plan = options.plan;
    this.portLimit = options.portLimit ?? 1;
    this.now = options.now ?? nowMs;
    this.#flights = new FlightTable(options.maxInFlight);
    this.#admission = new Admission(this.#flights, options.maxInFlight, this);
    const { counters, outline, now } = this;
    this.#stale = options.stale && new StaleClients(options.stale, this.#flights, now);
    this.#ends = new QuestionEnds({ counters, outline, stale: this.#stale, now }, options);
    this.refusals = new RefusalWriter(counters, options.unsentRcode);
  }

  /** Questions in flight. */
  get inFlight(): number {
    return this.#flights.inFlight;
  }

  /** What became of prefetches. */
  get prefetches(): QuestionEnds['prefetches']['results'] {
    return this.#ends.prefetches.results;
  }

  /** Flights: questions in flight, and questions that only wait for a late reply. */
  get remembered(): number {
    return this.#flights.all.length;
  }

  /**
   * Forwards a query and answers its client later, or writes a refusal into `out` immediately; returns what an Answerer
   * does. `inspector` gets the reply before the clients, who get `stale` unless there is a usable one in time.
   */
  forward(
    query: Query,
    out: Uint8Array,
    client: Client,
    group: ServerGroup,
    inspector?: ReplyInspector,
    options = NO_OPTIONS,
    stale?: StaleAnswer,
  ): number {
    const known = this.#find(query, options);
    if (known !== undefined && this.#flights.isAskedAgain(known, query, client)) {
      if (known.sendAgain(this.now())) this.counters.sentForUdp++;
      return NO_ANSWER_YET;
    }
    const failure = this.#failureOf(known);
    if (failure !== undefined) return this.refusals.writeFailed(query, out, client, failure, stale);
    const isLate = this.#stale?.isLate(known) === true;
    if (stale && (isLate || group.isDown(query.isOverTcp))) return giveNow(stale, out, client);
    if (!this.#admission.hasPlace(client.address, known, group)) {
      this.onDisplaced(group);
      return this.refusals.writeFull(query, out, client, TOO_MANY_WAITING, stale);
    }
    const flight = known ?? this.#createFlight(query, group);
    if (flight === undefined) {
      this.counters.overflows++;
      return this.refusals.writeFull(query, out, client, TOO_MANY_VARIANTS, stale);
    }
    const isSent = this.#joinOrLaunch(query, flight, client.address, inspector);
    if (!isSent) return this.refusals.writeUnsent(query, out, client, group, stale);
    this.counters.forwarded++;
    const waiter = this.#ends.waiters.take(query, client, flight, this.options, options, stale);
    this.#flights.join(flight, waiter);
    if (stale) this.#stale?.watch(flight);
    return NO_ANSWER_YET;
  }

  /**
   * Asks servers a question of the program itself, a whole query, for the client with this address if there is one, and
   * calls back within the time-out. False, and no call, when too many are in flight or no server can be reached.
   */
  ask(message: Uint8Array, group: ServerGroup, done: AskCallback, client = ''): boolean {
    const query = this.#own;
    if (query.read(message, message.length, false, MAX_MESSAGE_BYTES) !== 'answer') return false;
    const flight = this.#send(query, client, this.#find(query, NO_OPTIONS), group);
    if (flight === undefined) return false;
    this.counters.forwarded++;
    this.#flights.join(flight, new CallbackWaiter(client, flight.deadlineMs, done));
    return true;
  }

  /** Asks a question for which no client waits, unless it is in flight; false when it is not asked. */
  refresh(
    query: Query,
    group: ServerGroup,
    inspector: ReplyInspector,
    { address }: Client,
    options = NO_OPTIONS,
    isPrefetch = false,
  ): boolean {
    const known = this.#find(query, options);
    if (known?.isCounted === true) return true;
    if (isPrefetch && !this.#ends.mayPrefetch(group, this.inFlight)) return false;
    const flight = this.#send(query, address, known, group, inspector);
    if (isPrefetch) this.#ends.prefetches.add(flight);
    return flight !== undefined;
  }

  /** Asks, or joins, a question for which the program itself waits, or no one; undefined when that cannot be. */
  #send(
    query: Query,
    client: string,
    known: Flight | undefined,
    group: ServerGroup,
    inspector?: ReplyInspector,
  ): Flight | undefined {
    if (this.#failureOf(known) || !this.#admission.hasPlace(client, known, group)) return undefined;
    const flight = known ?? this.#createFlight(query, group);
    return flight && this.#joinOrLaunch(query, flight, client, inspector) ? flight : undefined;
  }

  /** A domain (in wire form), or all, changed: replies in flight are not cached, and what failed below `failed` may be answered. */
  forgetQuestions(domain = ROOT_NAME, failed = domain): void {
    this.#flights.forgetKeys(domain);
    this.#ends.failures.forgetBelow(failed);
  }

  /** Whether a question is in flight, and why it failed a moment ago; to look changes nothing. */
  look(query: Query, options = NO_OPTIONS): QuestionState {
    const isInFlight = this.#find(query, options)?.isCounted === true;
    return { isInFlight, failure: isInFlight ? undefined : this.#ends.failures.find(this.#key) };
  }

  /** Resolves when every question that is in flight now is answered; bounded by the time-out. */
  async settle(): Promise<void> {
    const sinceMs = this.now();
    await this.#idle.until(() => this.#flights.areSettled(sinceMs));
  }

  /** Ends every question; waiting clients get no answer. May be called twice. */
  close(): void {
    this.#loops.forget();
    clearInterval(this.#timer);
    this.#stale?.close();
    for (const flight of [...this.#flights.all]) {
      for (const waiter of flight.waiters.splice(0)) waiter.abandon();
      this.#flights.drop(flight);
    }
    this.#idle.notify();
  }

  /** For a flight: it has its reply. */
  finish(flight: Flight, reply: Buffer | null, mayBeLate = false): void {
    this.#flights.leaveAll(flight);
    this.#ends.note(flight, reply);
    if (mayBeLate) this.onForsaken(flight);
    else this.#drop(flight);
    this.#ends.answerAll(flight, reply);
    if (reply !== null && !mayBeLate) this.#spare.give(flight);
  }

  /** The flight of the same question, if there is one; the key is that of this question afterwards. */
  #find(query: Query, { bytes }: AddedOptions): Flight | undefined {
    this.#key.fill(query, sentFlags(query, this.options.passesAd === true), bytes);
    return this.#flights.find(this.#key);
  }

  /** Why the question that was looked for failed a moment ago, unless it is in flight again; or it is a loop's. */
  #failureOf(known: Flight | undefined): Failure | undefined {
    if (this.#loops.catches(this.#key)) return LOOP;
    return known?.isCounted === true ? undefined : this.#ends.failures.find(this.#key);
  }

  /** Gives a flight the whole time-out, and starts it unless it is in flight; false when it cannot be sent. */
  #joinOrLaunch(query: Query, flight: Flight, client: string, inspector?: ReplyInspector): boolean {
    const nowMs = this.now();
    const deadlineMs = nowMs + this.plan.timeoutMs;
    if (flight.isCounted) {
      this.counters.joined++;
      const isRepeated = nowMs - flight.startedAtMs >= REPEAT_AFTER_MS && flight.repeat(nowMs);
      if (isRepeated && !query.isOverTcp) this.counters.sentForUdp++;
      flight.deadlineMs = deadlineMs;
      flight.inspector ??= inspector;
      this.#loops.noteAsker(flight, client, nowMs);
      return true;
    }
    flight.inspector = inspector;
    flight.deadlineMs = deadlineMs;
    if (!flight.isQueued && !flight.start(nowMs)) {
      this.#drop(flight);
      return false;
    }
    flight.client = client;
    this.#flights.count(flight);
    this.#timer ??= setInterval(() => this.tick(), TICK_MS).unref();
    if (!query.isOverTcp) this.counters.sentForUdp++;
    if (flight.hasSibling) this.#loops.noteAsker(flight, client, nowMs);
    return true;
  }

  /** A flight for the question that was looked for; undefined when there are too many of its name. */
  #createFlight(query: Query, group: ServerGroup): Flight | undefined {
    const flight = this.#spare.take(query, this.#key, group);
    return this.#flights.add(flight) ? flight : undefined;
  }

  /** Ends a flight; one of the same question may have waited for its place. */
  #drop(flight: Flight): void {
    const next = this.#flights.drop(flight);
    if (next === undefined) return;
    next.isQueued = false;
    if (!next.start(this.now())) this.finish(next, null);
  }

  /** Does what is due; called by the timer, or by a test with its own clock. */
  tick(): void {
    const nowMs = this.now();
    this.#stale?.tick();
    const { all } = this.#flights;
    for (let i = all.length - 1; i >= 0; i--) {
      const flight = all[i];
      if (flight === undefined) continue;
      const endMs = isLost(flight, nowMs) ? Number.POSITIVE_INFINITY : nowMs;
      for (const waiter of this.#flights.takeExpired(flight, endMs)) {
        this.#ends.answer(waiter, flight.best.message, flight);
      }
      if (!flight.isCounted) {
        if (!flight.attempts.mayReply(nowMs)) this.#drop(flight);
      } else if (endMs >= flight.deadlineMs) {
        this.#ends.note(flight, flight.expire());
        this.onForsaken(flight);
      } else {
        this.#loops.check(flight, nowMs, this.plan.replyMs);
        flight.tick(nowMs);
      }
    }
    this.#idle.notify();
    this.#loops.forget(all.length > 0 ? nowMs : undefined);
    if (all.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** For the admission, and for a query that is refused itself. */
  onDisplaced(group: ServerGroup): void {
    this.counters.overflows++;
    this.options.onOverflow?.(group);
  }

  /** No client waits any more; a late reply may still come. */
  onForsaken(flight: Flight): void {
    if (this.#flights.mayLinger(flight)) this.#flights.uncount(flight);
    else this.#drop(flight);
  }
}
