import { atOnce, inTurns } from '@kube-dns/base';
import {
  encodeRefusal,
  MAX_MESSAGE_BYTES,
  Query,
  RCODE,
  relayTargetOf,
  ReplyOutline,
  ROOT_NAME,
} from '@kube-dns/wire';
import { type AnswerSource, type Client, NO_ANSWER_YET, SOURCE } from '../answerer.js';
import { nowMs } from '../batch-clock.js';
import {
  type AddedOptions,
  type AskCallback,
  ForwarderCounters,
  type ForwarderFacts,
  NO_OPTIONS,
  type PrefetchResults,
  type QueryForwarderOptions,
  type QuestionState,
  type ReplyInspector,
  type StaleAnswer,
} from './contract.js';
import { FailureMemory } from './failure-memory.js';
import {
  type Failure,
  isRefusal,
  isUsable,
  LOOP,
  NOT_SENT,
  TOO_MANY_OF_CLIENT,
  TOO_MANY_VARIANTS,
  TOO_MANY_WAITING,
} from './failure.js';
import { LoopProbes } from './loop-probes.js';
import { ExchangeObservers } from './observers.js';
import { type QueryContext, UpstreamQuery, type Waiter } from './query.js';
import { QueryTable } from './query-table.js';
import { QuestionKey } from './question.js';
import { FairSlots } from './quota.js';
import type { ServerGroup } from './servers.js';
import { StaleClients } from './stale-clients.js';
import { CallbackWaiter, ClientWaiter } from './waiter.js';

const TICK_MS = 50;
/** Between two looks at the time that a tick has taken. */
const TICKED_TOGETHER = 2;
/** dnsmasq src/forward.c: a duplicate after this time makes us ask again. */
const REPEAT_AFTER_MS = 2_000;
/** Of the questions in flight, at most this share are prefetches; one is always allowed. */
const MAX_PREFETCH_SHARE = 0.1;
/** This many objects are pooled for the next questions, and clients: a few batches of replies end as many. */
const MAX_POOLED = 256;
/** dnsmasq src/config.h, FTABSIZ: its limit for all clients together. */
const MAX_UNPROVEN = 150;
const NO_WAITERS: readonly Waiter[] = [];

/** What a client gets at once in place of an answer. */
interface Refusal {
  readonly rcode: number;
  readonly failure: Failure;
  readonly source: AnswerSource | undefined;
}

/**
 * Forwards questions to groups of servers and their replies to all clients with the same question. Every
 * client gets an answer within the time-out; what is in flight is bounded per group.
 */
export class QueryForwarder {
  readonly counters = new ForwarderCounters();
  readonly exchanges: ExchangeObservers;
  /** What became of prefetches. */
  readonly prefetches: PrefetchResults = { fresh: 0, failed: 0, dropped: 0 };
  readonly options: QueryForwarderOptions;
  readonly now: () => number;
  readonly #outline = new ReplyOutline();
  readonly #key: QuestionKey;
  readonly #queries = new QueryTable();
  #inFlight = 0;
  #prefetching = 0;
  readonly #failures: FailureMemory;
  readonly #loops = new LoopProbes();
  readonly #stale: StaleClients | undefined;
  readonly #own = new Query();
  /**
   * Objects that have ended, to be used again: new ones for each question are much garbage. What comes late finds none
   * of them: a reply is for what was sent, which is never used again.
   */
  readonly #freeQueries: UpstreamQuery[] = [];
  readonly #freeWaiters: ClientWaiter[] = [];
  /** Of clients whose addresses may be forged, whatever servers they wait for. */
  readonly #unproven = new FairSlots();
  readonly #context: QueryContext;
  /** Of those that wait until questions have ended. */
  #settling: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isTicking = false;

  constructor(options: QueryForwarderOptions) {
    this.options = options;
    this.now = options.now ?? nowMs;
    this.exchanges = new ExchangeObservers(this.now);
    this.#key = new QuestionKey(options.passesAd === true);
    this.#failures = new FailureMemory(this.now, options.servfailMs);
    const { stale } = options;
    this.#stale = stale && new StaleClients(stale, this.now, (query) => this.#giveStale(query));
    this.#context = {
      options,
      exchanges: this.exchanges,
      outline: this.#outline,
      now: this.now,
      onEnd: (query, reply, mayBeLate) => this.#finish(query, reply, mayBeLate),
      onEvict: (query, waiter, isOwn) => this.#evict(query, waiter, isOwn),
    };
  }

  /** Questions in flight. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Questions in flight, and those that only wait for a late reply. */
  get remembered(): number {
    return this.#queries.all.length;
  }

  /** What is in flight, and what was counted. */
  describe(): ForwarderFacts {
    const { counters, prefetches, inFlight } = this;
    return { inFlight, maxInFlight: this.options.maxInFlight, counters, prefetches };
  }

  // What clients and the program ask.

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
    const existing = this.#find(query, options);
    if (existing !== undefined && isAskedAgain(existing, query, client)) {
      if (existing.sendAgain(this.now())) this.counters.sentForUdp++;
      return NO_ANSWER_YET;
    }
    const failure = this.#recentFailure(existing);
    const isLate = failure === undefined && this.#stale?.isLate(existing) === true;
    if (stale && (failure || isLate || group.isDown(query.isOverTcp))) {
      return giveNow(stale, out, client);
    }
    if (failure !== undefined) {
      const refusal = { rcode: RCODE.SERVFAIL, failure, source: SOURCE.CACHE };
      return this.#refuse(query, out, client, refusal);
    }
    const { address } = client;
    const forwarded = this.#hasPart(query, address, group)
      ? this.#ask(query, address, existing, group, inspector)
      : TOO_MANY_OF_CLIENT;
    if (!(forwarded instanceof UpstreamQuery)) {
      if (forwarded !== NOT_SENT) this.#noteOverflow(group, forwarded);
      if (stale !== undefined) return giveNow(stale, out, client);
      return this.#refuse(query, out, client, this.#refusalOf(forwarded, group));
    }
    this.counters.forwarded++;
    const waiter = this.#freeWaiters.pop() ?? new ClientWaiter();
    waiter.begin(query, client, forwarded, this.options, options, stale);
    this.#join(forwarded, waiter, query);
    if (stale) this.#stale?.watch(forwarded);
    return NO_ANSWER_YET;
  }

  /**
   * Asks servers a question of the program itself, a whole query, for the client with this address if there is one, and
   * calls back within the time-out. False, and no call, when too many are in flight or no server can be reached.
   * `asked`: the client's query, whose trace it has.
   */
  ask(
    message: Uint8Array,
    group: ServerGroup,
    done: AskCallback,
    client = '',
    asked?: Query,
  ): boolean {
    const query = this.#own;
    query.trace = asked?.trace;
    if (query.read(message, message.length, false, MAX_MESSAGE_BYTES) !== 'answer') return false;
    const existing = this.#find(query, NO_OPTIONS);
    if (this.#recentFailure(existing) !== undefined) return false;
    if (asked !== undefined && !this.#hasPart(asked, client, group)) return false;
    const forwarded = this.#ask(query, client, existing, group);
    if (!(forwarded instanceof UpstreamQuery)) return false;
    this.counters.forwarded++;
    this.#join(forwarded, new CallbackWaiter(client, forwarded.deadlineMs, done), asked);
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
    const existing = this.#find(query, options);
    if (existing?.isInFlight === true) return true;
    if (isPrefetch && !this.#mayPrefetch(group)) {
      this.prefetches.dropped++;
      return false;
    }
    const forwarded =
      this.#recentFailure(existing) ?? this.#ask(query, address, existing, group, inspector);
    const isAsked = forwarded instanceof UpstreamQuery;
    if (!isPrefetch) return isAsked;
    if (isAsked) {
      forwarded.isPrefetch = true;
      this.#prefetching++;
    } else this.prefetches.dropped++;
    return isAsked;
  }

  /** A domain (in wire form), or all, changed: replies in flight are not cached, and what failed below `failed` may be answered. */
  forgetQuestions(domain = ROOT_NAME, failed = domain): void {
    for (const { question } of this.#queries.all) {
      if (question.isBelow(domain)) question.isShared = false;
    }
    this.#failures.forgetBelow(failed);
  }

  /** Whether a question is in flight, and why it failed a moment ago; to look changes nothing. */
  look(query: Query, options = NO_OPTIONS): QuestionState {
    const isInFlight = this.#find(query, options)?.isInFlight === true;
    return { isInFlight, failure: isInFlight ? undefined : this.#failures.find(this.#key) };
  }

  /** Resolves when every question that is in flight now is answered; bounded by the time-out. */
  async settle(): Promise<void> {
    const sinceMs = this.now();
    const isOfNow = (query: UpstreamQuery) => query.isInFlight && query.startedAtMs <= sinceMs;
    while (this.#queries.all.some(isOfNow)) {
      await new Promise<void>((resolve) => this.#settling.push(resolve));
    }
  }

  /** Does what is due without a pause; called by a test with its own clock. */
  tick(): void {
    atOnce(this.#doDue());
  }

  /** Ends every question; waiting clients get no answer. May be called twice. */
  close(): void {
    this.#loops.forget();
    clearInterval(this.#timer);
    this.#stale?.close();
    for (const query of [...this.#queries.all]) {
      for (const waiter of query.waiters.splice(0)) waiter.abandon();
      this.#drop(query);
    }
    this.#wakeSettling();
  }

  // Admission: a question is found in flight, or a query is made for it.

  /** The query of the same question, if there is one; the key is that of this question afterwards. */
  #find(query: Query, { bytes, hasClientSubnet }: AddedOptions): UpstreamQuery | undefined {
    this.#key.fill(query, bytes, hasClientSubnet);
    return this.#queries.find(this.#key);
  }

  /** Why the question that was looked for failed a moment ago, unless it is in flight again; or it is a loop's. */
  #recentFailure(existing: UpstreamQuery | undefined): Failure | undefined {
    if (this.#loops.catches(this.#key, existing)) return LOOP;
    return existing?.isInFlight === true ? undefined : this.#failures.find(this.#key);
  }

  /** Whether a client may wait for one more question: it is not forged, or has few; another domain of its own may give one. */
  #hasPart(query: Query, client: string, group: ServerGroup): boolean {
    if (!isUnproven(query, client)) return true;
    const { maxUnproven = MAX_UNPROVEN, isKnownClient } = this.options;
    if (this.#unproven.sizeOf(client) < maxUnproven || isKnownClient?.(client) === true)
      return true;
    return this.#unproven.makeOwnRoom(client, maxUnproven, group.domainOf(query));
  }

  /** Asks the question that was looked for, or joins it if it is in flight; else why that cannot be. */
  #ask(
    query: Query,
    client: string,
    existing: UpstreamQuery | undefined,
    group: ServerGroup,
    inspector?: ReplyInspector,
  ): UpstreamQuery | Failure {
    const { maxInFlight, plan } = this.options;
    const nowMs = this.now();
    const deadlineMs = nowMs + plan.timeoutMs;
    const domain = group.domainOf(query);
    if (existing?.isInFlight === true) {
      const { joinerSlots } = existing.group.load;
      if (!joinerSlots.makeRoom(client, maxInFlight, domain)) return TOO_MANY_WAITING;
      this.counters.joined++;
      const isRepeated = nowMs - existing.startedAtMs >= REPEAT_AFTER_MS && existing.repeat(nowMs);
      if (isRepeated && !query.isOverTcp) this.counters.sentForUdp++;
      existing.deadlineMs = deadlineMs;
      existing.inspector ??= inspector;
      addTrace(existing, query);
      this.#loops.noteAsker(existing, client, nowMs);
      return existing;
    }
    if (!group.load.questionSlots.makeRoom(client, maxInFlight, domain)) return TOO_MANY_WAITING;
    // One that was in flight may have given way a moment ago.
    const isThere = existing !== undefined && existing.index >= 0;
    const started = isThere ? existing : this.#create(query, client, group);
    if (started === undefined) return TOO_MANY_VARIANTS;
    started.inspector = inspector;
    started.deadlineMs = deadlineMs;
    started.client = client;
    started.domain = domain;
    addTrace(started, query);
    if (started.state !== 'queued' && !started.next('start', nowMs)) {
      this.#drop(started);
      return NOT_SENT;
    }
    started.group.load.questionSlots.acquire(client, started.slot, maxInFlight, domain);
    this.#inFlight++;
    this.#timer ??= setInterval(this.#onTick, TICK_MS).unref();
    if (!query.isOverTcp) this.counters.sentForUdp++;
    if (started.hasSibling) this.#loops.noteAsker(started, client, nowMs);
    return started;
  }

  /** A query for the question that was looked for; undefined when the client has its part of those of the name. */
  #create(query: Query, client: string, group: ServerGroup): UpstreamQuery | undefined {
    const created = this.#freeQueries.pop() ?? new UpstreamQuery(this.#context);
    created.begin(query, this.#key, group);
    created.client = client;
    while (!this.#queries.add(created)) {
      const queued = this.#queries.evictable(created);
      if (queued === undefined) return undefined;
      this.#evictClient(queued, TOO_MANY_VARIANTS);
    }
    return created;
  }

  /** Prefetches are the last to be sent. */
  #mayPrefetch({ servers, load }: ServerGroup): boolean {
    const isFew = this.#prefetching < Math.max(1, this.#inFlight * MAX_PREFETCH_SHARE);
    if (!isFew || load.questions >= this.options.maxInFlight) return false;
    return servers.some(({ health }) => !health.isDown && !health.isSuspect);
  }

  /** A slot is needed: that of one that waits, by its own client if `isOwn`, or of the question. */
  #evict(query: UpstreamQuery, waiter?: Waiter, isOwn = false): void {
    if (waiter !== undefined) {
      if (waiter === query.waiters[0]) this.#removeFirst(query, 1);
      else this.#remove(query, waiter);
      this.#evictWaiter(waiter, query.group, isOwn ? TOO_MANY_OF_CLIENT : TOO_MANY_WAITING);
      if (query.waiters.length === 0) this.#abandon(query);
      return;
    }
    this.#evictClient(query, TOO_MANY_WAITING);
  }

  /** The client of a question gives it up: where those of another address wait, too, one of them has the slot now. */
  #evictClient(query: UpstreamQuery, failure: Failure): void {
    const other = query.waiters.findIndex(({ client }) => client !== query.client);
    const count = other < 0 ? query.waiters.length : other;
    for (const each of this.#removeFirst(query, count)) {
      this.#evictWaiter(each, query.group, failure);
    }
    if (query.waiters.length === 0) this.#abandon(query);
  }

  #evictWaiter(waiter: Waiter, group: ServerGroup, failure: Failure): void {
    waiter.fail(failure, RCODE.REFUSED);
    this.#noteOverflow(group, failure);
  }

  #noteOverflow(group: ServerGroup, failure: Failure): void {
    this.counters.overflows++;
    if (failure === TOO_MANY_VARIANTS) return;
    this.options.onOverflow?.(group, failure === TOO_MANY_OF_CLIENT);
  }

  #refusalOf(failure: Failure, group: ServerGroup): Refusal {
    if (failure !== NOT_SENT) return { rcode: RCODE.REFUSED, failure, source: undefined };
    const { unsentRcode = RCODE.REFUSED } = this.options;
    const { failure: down } = group;
    const rcode = down === undefined ? unsentRcode : RCODE.SERVFAIL;
    return { rcode, failure: down ?? group.notSent, source: SOURCE.UPSTREAM };
  }

  /** Writes a refusal into `out` and returns its length. */
  #refuse(
    query: Query,
    out: Uint8Array,
    client: Client,
    { rcode, failure, source }: Refusal,
  ): number {
    if (source !== undefined) client.answersFrom(source);
    if (rcode === RCODE.SERVFAIL && failure.isSilence) this.counters.failures++;
    const target = relayTargetOf(query, false, false, query.bytes);
    const refusal = encodeRefusal(target, rcode, failure.option);
    out.set(refusal);
    this.options.onRefusal?.(refusal, failure.code);
    return refusal.length;
  }

  // The waiters of a query. The first one holds the slot of the question, each of the others one of its own.

  /** `asked` is the query of the client, if there is one. */
  #join(query: UpstreamQuery, waiter: Waiter, asked?: Query): void {
    const { client } = waiter;
    if (asked !== undefined && isUnproven(asked, client)) {
      this.#unproven.acquire(client, waiter.unproven, this.options.maxInFlight, query.domain);
    }
    waiter.query = query;
    const isFirst = query.waiters.push(waiter) === 1;
    if (isFirst) this.#passSlot(query, client);
    else {
      const { joinerSlots } = query.group.load;
      joinerSlots.acquire(client, waiter.slot, this.options.maxInFlight, query.domain);
    }
  }

  /** Gives the slot of a question to a client. */
  #passSlot(query: UpstreamQuery, client: string): void {
    if (query.client === client) return;
    query.client = client;
    if (!query.isInFlight) return;
    const { questionSlots } = query.group.load;
    questionSlots.release(query.slot);
    questionSlots.acquire(client, query.slot, this.options.maxInFlight, query.domain);
  }

  /** Removes the first waiters and returns them; the next one takes over the slot of the question. */
  #removeFirst(query: UpstreamQuery, count: number): readonly Waiter[] {
    const { joinerSlots } = query.group.load;
    const removed = query.waiters.splice(0, count);
    for (const waiter of removed) this.#releaseSlots(joinerSlots, waiter);
    const [first] = query.waiters;
    if (first === undefined) return removed;
    joinerSlots.release(first.slot);
    this.#passSlot(query, first.client);
    return removed;
  }

  /** Removes one that is not the first. */
  #remove({ group, waiters }: UpstreamQuery, waiter: Waiter): void {
    this.#releaseSlots(group.load.joinerSlots, waiter);
    waiters.splice(waiters.indexOf(waiter), 1);
  }

  #releaseSlots(joinerSlots: FairSlots, { slot, unproven }: Waiter): void {
    joinerSlots.release(slot);
    this.#unproven.release(unproven);
  }

  /** Removes those whose time is over; they are in order of their deadlines. */
  #removeExpired(query: UpstreamQuery, nowMs: number): readonly Waiter[] {
    const { waiters } = query;
    let expired = 0;
    while (expired < waiters.length && waiters[expired]!.deadlineMs <= nowMs) expired++;
    return expired === 0 ? NO_WAITERS : this.#removeFirst(query, expired);
  }

  /** Those that have an expired answer get it, and wait no longer. */
  #giveStale(query: UpstreamQuery): void {
    const stale = query.waiters.filter((waiter) => waiter.stale !== undefined);
    if (stale.length === query.waiters.length) this.#removeFirst(query, stale.length);
    else {
      for (const waiter of stale) {
        if (waiter === query.waiters[0]) this.#removeFirst(query, 1);
        else this.#remove(query, waiter);
      }
    }
    for (const waiter of stale) waiter.giveStale('timeout');
  }

  /** Gives one that waited what its question ended with. */
  #answer(waiter: Waiter, reply: Buffer | null, query: UpstreamQuery): void {
    if (reply === null) {
      if (waiter.stale === undefined) this.counters.failures++;
      waiter.fail(query.failure);
      return;
    }
    const outline = this.#outline;
    if (outline.message !== reply) outline.read(reply);
    waiter.answer(reply, outline, query.bestServer, isRefusal(reply) ? query.failure : undefined);
  }

  // What time brings.

  /** When a server is silent thousands of questions are due together: clients whose answer is cached are served in between. */
  readonly #onTick = (): void => {
    if (this.#isTicking) return;
    this.#isTicking = true;
    void inTurns(this.#doDue()).finally(() => (this.#isTicking = false));
  };

  *#doDue(): Iterator<void> {
    this.#stale?.tick();
    const { all } = this.#queries;
    for (let i = all.length - 1; i >= 0; i--) {
      const query = all[i];
      if (query !== undefined) this.#tickQuery(query, this.now());
      if (i % TICKED_TOGETHER === 0) yield;
    }
    this.#wakeSettling();
    this.#loops.forget(all.length > 0 ? this.now() : undefined);
    if (all.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  // The end of a query.

  #tickQuery(query: UpstreamQuery, nowMs: number): void {
    for (const waiter of this.#removeExpired(query, nowMs)) {
      this.#answer(waiter, query.best, query);
    }
    if (!query.next('tick', nowMs)) this.#drop(query);
    else if (query.isInFlight) this.#loops.check(query, nowMs, this.options.plan.replyMs);
  }

  /** A question has ended: all that wait get its reply, or SERVFAIL. */
  #finish(query: UpstreamQuery, reply: Buffer | null, mayBeLate: boolean): void {
    const { waiters } = query;
    const { joinerSlots } = query.group.load;
    for (const waiter of waiters) this.#releaseSlots(joinerSlots, waiter);
    this.#noteEnd(query, reply);
    if (mayBeLate) this.#abandon(query);
    else this.#drop(query);
    for (const waiter of waiters) this.#answer(waiter, reply, query);
    // One by one: an array that is cut at once gives up its memory.
    while (waiters.length > 0) this.#poolWaiter(waiters.pop()!);
    const isFree = reply !== null && !mayBeLate && this.#freeQueries.length < MAX_POOLED;
    if (isFree && query.release()) this.#freeQueries.push(query);
  }

  /** What follows from an end for the same question later, and for prefetches. */
  #noteEnd(query: UpstreamQuery, reply: Buffer | null): void {
    const { isPrefetch } = query;
    if (isPrefetch) this.#endPrefetch(query, isUsable(reply) ? 'fresh' : 'failed');
    // The failure of a prefetch that no client waits for is none of clients.
    if (!isPrefetch || query.waiters.length > 0) this.#failures.note(query, reply);
    this.#stale?.noteEnd(query, reply);
  }

  #endPrefetch(query: UpstreamQuery, result: 'fresh' | 'failed'): void {
    query.isPrefetch = false;
    this.#prefetching--;
    this.prefetches[result]++;
  }

  #poolWaiter(waiter: Waiter): void {
    if (!(waiter instanceof ClientWaiter) || this.#freeWaiters.length >= MAX_POOLED) return;
    waiter.end();
    this.#freeWaiters.push(waiter);
  }

  /** No client waits any more; a late reply, which is cached, may still come. */
  #abandon(query: UpstreamQuery): void {
    const isRoom = this.#queries.all.length - this.#inFlight < this.options.maxInFlight;
    const mayLinger = isRoom && query.question.isShared && !query.isOverTcp;
    if (mayLinger && query.state !== 'queued' && !this.#queries.hasQueued(query)) {
      query.linger();
      this.#releaseSlot(query);
    } else this.#drop(query);
  }

  /** Ends a query; one of the same question may have waited for it. */
  #drop(query: UpstreamQuery): void {
    query.cancel();
    if (query.index < 0) return;
    // Another client has got its slot, and there was no late reply.
    if (query.isPrefetch) this.#endPrefetch(query, 'failed');
    this.#releaseSlot(query);
    const queued = this.#queries.remove(query);
    if (queued?.next('start', this.now()) === false) this.#finish(queued, null, false);
  }

  /** Gives back the slot of a question, if it has it. */
  #releaseSlot({ slot, group }: UpstreamQuery): void {
    if (slot.share === undefined) return;
    group.load.questionSlots.release(slot);
    this.#inFlight--;
  }

  #wakeSettling(): void {
    if (this.#settling.length === 0) return;
    for (const wake of this.#settling.splice(0)) wake();
  }
}

/** Whether the source of a query may be forged, so that answers to it may hit another. */
function isUnproven({ isOverTcp, hasGoodCookie }: Query, client: string): boolean {
  return !isOverTcp && !hasGoodCookie && !isLocal(client);
}

/** The program itself, the pod, or the machine: nothing from outside has such a source. */
function isLocal(client: string): boolean {
  return client === '' || client === '::1' || client.startsWith('127.');
}

/** What happens to the question is noted in the trace of a query that is explained. */
function addTrace(question: UpstreamQuery, { trace }: Query): void {
  if (trace !== undefined) (question.traces ??= []).push(trace);
}

/** Whether a query is the retransmission of a client that waits. */
function isAskedAgain({ waiters }: UpstreamQuery, query: Query, client: Client): boolean {
  for (const waiter of waiters) if (waiter.isAskingAgain(query, client)) return true;
  return false;
}

/** Writes the expired answer of a client that need not wait; returns its length. */
function giveNow(stale: StaleAnswer, out: Uint8Array, client: Client): number {
  client.answersFrom(SOURCE.STALE);
  stale.onGiven('known');
  out.set(stale.message);
  return stale.message.length;
}
