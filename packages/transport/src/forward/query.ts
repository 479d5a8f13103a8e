import type { Trace } from '@kube-dns/base';
import { type Query, readUint16, type ReplyOutline, rcodeOf } from '@kube-dns/wire';
import type { Client } from '../answerer.js';
import type { ExchangeErrorCode } from '../errors.js';
import { isStreamed, type ServerAddress } from '../server-address.js';
import { type RepliedQuery, withoutOpt, withoutPlainOpt } from './capabilities.js';
import type {
  QueryForwarderOptions,
  ReplyInspector,
  StaleAnswer,
  StaleReason,
} from './contract.js';
import {
  bareRefusal,
  type Failure,
  type FailureReason,
  failureFrom,
  failureOf,
  badReplyReason,
  isRefusal,
  isTruncated,
  type BadReplyReason,
  withoutRecords,
} from './failure.js';
import type { ExchangeObservers } from './observers.js';
import { ForwardedQuestion, type QuestionKey } from './question.js';
import { Slot, type SlotHolder } from './quota.js';
import {
  ALL_SERVERS,
  fittedTo,
  type ServerGroup,
  TcpRound,
  type TcpRoundHandler,
  type UpstreamServer,
} from './servers.js';
import type { ReplyHandler, SentQuery, Unreachable } from './server-sockets.js';

/** Between two sendings of a question to one server, whatever asks for them. */
const RESEND_PAUSE_MS = 500;
/** Sendings of a question to servers that were asked before, until its time-out; later this many to each in that time. */
const MAX_RESENDS = 5;
/** A question without a reply waits at so many ports of one server: that of the first sending, and of the last. */
const MAX_PORTS = 2;
/** So long after it was sent again it goes to a port that has had a reply meanwhile. */
const OTHER_PORT_MS = 200;
/** An ID and a port are given up after this time: a late reply can still be cached until then. */
const PAIR_MS = 10_000;
/** How long a question waits for the reply to a probe when all servers are down. */
const HOLD_MS = 50;
/** How long a refusal waits for a better reply, at least. */
const GRACE_MS = 1_000;
/** A question without a reply from any server for so long makes them suspect. */
const SUSPECT_MS = 200;
/** A client waits so long at least, even if all servers are down meanwhile. */
const DEAD_MS = 1_600;
const NEVER = Number.POSITIVE_INFINITY;

/** Waits for the answer to a question until its deadline; it is answered or abandoned, once. */
export interface Waiter extends SlotHolder {
  /** The address of the client; empty for the program itself. */
  readonly client: string;
  readonly deadlineMs: number;
  /** Set by the forwarder: what it waits for. */
  query: UpstreamQuery | undefined;
  /** The slot that it has beside the question's. */
  readonly slot: Slot;
  /** The one that it has while its address may be forged. */
  readonly unproven: Slot;
  /** What it gets in place of a failure, and of a late reply. */
  readonly stale: StaleAnswer | undefined;
  /** Whether a query over UDP is a retransmission of this waiter's. */
  isAskingAgain(query: Query, client: Client): boolean;
  /** Gives it a copy of a server's reply; SERVFAIL and REFUSED get a reason if they have none. The outline is the reply's. */
  answer(reply: Buffer, outline: ReplyOutline, server?: ServerAddress, failure?: Failure): void;
  /** No server has an answer; SERVFAIL by default. */
  fail(failure: Failure, rcode?: number): void;
  /** It gets its expired answer; it must have one. */
  giveStale(reason: StaleReason): void;
  /** There will be no answer. */
  abandon(): void;
}

/** What a forwarder's queries share with it. */
export interface QueryContext {
  readonly options: QueryForwarderOptions;
  readonly exchanges: ExchangeObservers;
  /** Of the reply that is being handled: it is read once, when the reply arrives. */
  readonly outline: ReplyOutline;
  /** Milliseconds that never fall. */
  readonly now: () => number;
  /** Its clients wait no longer: it has a reply, or `null` for SERVFAIL. `mayBeLate`: a better one may still come. */
  onEnd(query: UpstreamQuery, reply: Buffer | null, mayBeLate: boolean): void;
  /** Another client needs the slot of the question, or of one that waits for it; `isOwn`: the same client needs it. */
  onEvict(query: UpstreamQuery, waiter?: Waiter, isOwn?: boolean): void;
}

/** One sending of a question to one server, and its outcome. */
class Attempt implements RepliedQuery {
  /** The server's index in the group. */
  index = 0;
  server!: UpstreamServer;
  sent!: SentQuery;
  /** What was sent last, and whether that is the query without the OPT record of the one before. */
  query!: Buffer;
  isPlainAgain = false;
  /** It was sent with our cookie. */
  hasCookie = false;
  sentAtMs = 0;
  /** When the same datagram was last sent. */
  resentAtMs = 0;
  hasFailed = false;
  /** It had no reply in time, which is counted. */
  isSilent = false;
  hasReplied = false;
  /** Its server is said to be unreachable, or its ID is being guessed: the server may still reply to another port. */
  isDisturbed = false;
  /** A reply had its port and another ID: what comes there later may be forged, and is not taken. */
  isGuessed = false;
  /** It was sent without EDNS, as the server seems not to know that. */
  isWithoutEdns = false;
  /** It left from another port, as there was no reply at that of this one. */
  instead: SentQuery | undefined;
}

/** Of a reply. `suspect`: it may be forged, so the question is asked over TCP. */
type Judgement = 'accepted' | 'suspect' | 'asked again';

/** What was sent for an attempt that is over: it cannot be forgotten once more. */
const NOTHING_SENT: SentQuery = { socket: { resend: () => undefined, forget: () => undefined } };

export type QueryState = 'queued' | 'held' | 'udp' | 'tcp' | 'lingering' | 'done';

/** What happens to a question; `UpstreamQuery.next` says what that leads to. */
export type QueryEvent =
  /** It is to be sent: it is new, it is its turn, a server is up, or a client asks for a lingering one. */
  | 'start'
  /** 50 ms have passed. */
  | 'tick'
  /** A server that was asked over UDP has no answer. */
  | 'no answer'
  /** Servers are to be asked over TCP; none of them has an answer there. */
  | 'ask over tcp'
  | 'no answer over tcp';

/**
 * One question on its way to the servers of a group. It ends with the first usable reply; SERVFAIL and REFUSED are
 * answers only when nothing better comes. Afterwards the object is used for another question.
 *
 *     begin ─┬─────── start ────────► ┬ ◄───────── start: a client asks ─────────┐
 *            │                        │                                          │
 *            └─ enqueue ─► queued ────┤ start: one of its name has ended         │
 *                                     │                                          │
 *                all servers are down ├──────► held ──► done  after 50 ms        │
 *                                     │ ◄───────┘ start: a server is up          │
 *                                     ▼                                          │
 *             tick: it is sent ┌───► udp ◄────── no answer over tcp ──┐          │
 *             again            └──────┤ ├── ask over tcp ───────────► tcp        │
 *                                     │ │                             │          │
 *                                     │ └── tick: its time is over, or ──► lingering
 *                                     │     a refusal is passed on               │
 *                                     ▼                                          ▼
 *                                   done  a reply, or none has an answer       done  a late reply, or 10 s
 *
 * In flight, that is with a slot and mostly with clients that wait, it is while `queued`, `held`, `udp` (also over kept
 * connections) and `tcp` (also from the start, for a client that asks over TCP). While it is `lingering` a late reply is
 * still inspected, so that it is cached. A reply to what was sent earlier is accepted in all states but `done`.
 *
 * To which servers it is sent, and when:
 *
 *     |                                      | preferred             | all servers | strict order            |
 *     | ------------------------------------ | --------------------- | ----------- | ----------------------- |
 *     | at the start                         | the preferred, or all | all         | the first that is up    |
 *     | a server has no answer               | all the others        | all others  | the next                |
 *     | silence, for a pause that doubles    | the next, then all    | all         | the next, else the same |
 *     |   meanwhile a good port is found     | the same              | the same    | the same                |
 *     | the client sends its query again     | all                   | all         | the next                |
 *     | another client joins after 2 s       | the same              | the first   | the same                |
 *     | clients still ask after the time-out | all, evenly           | all, evenly | all, evenly             |
 *
 * Over UDP a server without a reply gets it again from another port: one that had a reply meanwhile, else a new one. Where one
 * address stands for several servers, conntrack or a balancer leads each port to one of them, and that may be silent. Half a
 * second later it goes to the first port without EDNS, to which the server may be silent.
 */
export class UpstreamQuery implements ReplyHandler, TcpRoundHandler, SlotHolder {
  readonly question = new ForwardedQuestion();
  group!: ServerGroup;
  isOverTcp = false;
  inspector: ReplyInspector | undefined;
  startedAtMs = 0;
  /** Until then the question is retransmitted; afterwards it only waits for late replies. */
  deadlineMs = 0;

  // Of the forwarder.
  readonly waiters: Waiter[] = [];
  /** The address of the client that holds the slot; empty for the program itself. */
  client = '';
  /** The hash of the domain that its slots count for. */
  domain = 0;
  readonly slot = new Slot(this);
  /** Its index in the list of all; -1 for one that is in none. */
  index = -1;
  /** The next one of the same bucket. */
  following: UpstreamQuery | undefined;
  /** There were others of its question when it was added. */
  hasSibling = false;
  /** It was asked before its cached answer expires, and its result is not counted yet. */
  isPrefetch = false;
  /** Whether it was asked if the question is in a loop. */
  isProbed = false;
  /** Set where something may refer to it longer than the forwarder: then no other question has the object. */
  isPinned = false;
  /** Of the queries that are explained, while their clients wait. */
  traces: Trace[] | undefined;

  readonly exchanges: ExchangeObservers;
  readonly now: () => number;
  readonly #context: QueryContext;
  #state: QueryState = 'done';
  /** When it is retransmitted, or given up while it is held. */
  #dueAtMs = NEVER;
  /** When the best of bad replies is passed on. */
  #relayAtMs = NEVER;
  /** Retransmissions since it was started last, and how often it was started. */
  #retries = 0;
  #starts = 0;

  /** In order; a server may occur more than once, each time with another port. */
  readonly #attempts: Attempt[] = [];
  /** One of the question before, to be used again. */
  #freeAttempt: Attempt | undefined;
  /** The server that is asked in its turn, by its index in the group. */
  #current = 0;
  /** How often the question was sent, and how often to servers that had it. */
  #sends = 0;
  #resends = 0;
  /** It is sent to all servers at even intervals: clients still ask after the time-out. */
  #isEven = false;
  #hadBadCookie = false;
  /** It was disturbed: when nothing is open it is sent again from another port. */
  #isDisturbed = false;
  /** While it is asked over TCP nothing is retransmitted over UDP, but replies are accepted. A lingering one may have it, too. */
  #tcp: TcpRound | undefined;

  /** The best reply so far, which it ends with, and the server that it is from. */
  #best: Buffer | null = null;
  #bestServer: ServerAddress | undefined;
  /** Why the forwarder ended it, else why the last server had no answer. */
  #endedBy: Failure | undefined;
  #failedServer: UpstreamServer | undefined;
  #reason: FailureReason = 'timeout';

  constructor(context: QueryContext) {
    this.#context = context;
    this.exchanges = context.exchanges;
    this.now = context.now;
  }

  // The life of a question.

  /** Becomes the question of a client's query, which has this key, to these servers; it is new, or was released. */
  begin(query: Query, key: QuestionKey, group: ServerGroup): void {
    const { mixesCase, maxUdpBytes } = this.#context.options;
    this.question.set(query, key, mixesCase === true && !group.isStreamed, maxUdpBytes);
    this.group = group;
    // Over connections that are kept there is one way for all questions, and replies are hard to forge.
    this.isOverTcp = query.isOverTcp && !group.isStreamed;
    this.isPinned = false;
    this.#starts = 0;
  }

  get state(): QueryState {
    return this.#state;
  }

  /** Clients wait, or may join. */
  get isInFlight(): boolean {
    return this.#state !== 'lingering' && this.#state !== 'done';
  }

  /** What a client gets that cannot wait any longer, and the server that it is from; at the end what all get. */
  get best(): Buffer | null {
    return this.#best;
  }
  get bestServer(): ServerAddress | undefined {
    return this.#bestServer;
  }

  /** Why there is no reply: no server of the group is up, or the last one had no answer; at first the current one. */
  get failure(): Failure {
    const { failure, servers } = this.group;
    const server = this.#failedServer ?? servers[this.#current] ?? servers[0];
    return this.#endedBy ?? failure ?? failureFrom(this.#reason, server);
  }

  /**
   * What an event leads to in the life of the question. False when there is nothing to wait for: no server can be
   * reached, or the ID and port of each sending are too old.
   */
  next(event: QueryEvent, nowMs: number): boolean {
    switch (event) {
      case 'start': {
        this.#renew(nowMs);
        const isProbed = this.group.probe(nowMs, this.isOverTcp);
        if (this.group.isDown(this.isOverTcp)) {
          this.#state = 'held';
          this.#dueAtMs = nowMs + HOLD_MS;
          return isProbed;
        }
        this.#state = 'udp';
        this.#schedule(nowMs);
        if (!this.isOverTcp) return this.#sendFirst(nowMs);
        this.#askOverTcp(this.group.inOrder(), 0, nowMs);
        return true;
      }

      case 'tick': {
        if (!this.isInFlight) {
          this.#forgetBefore(nowMs - PAIR_MS);
          return this.#attempts.length > 0;
        }
        const mayRelay = this.#state === 'udp' && nowMs >= this.#relayAtMs;
        if (this.#isDead(nowMs) || nowMs >= this.deadlineMs || mayRelay) {
          this.#noteTimeouts();
          this.#context.onEnd(this, this.#best, true);
        } else if (this.#state === 'held') {
          const isDown = this.group.isDown(this.isOverTcp);
          if (isDown ? nowMs >= this.#dueAtMs : !this.next('start', nowMs)) this.#end(null);
        } else if (this.#state === 'udp' && nowMs >= this.#dueAtMs) this.#retransmit(nowMs);
        else if (this.#state === 'udp' && this.#retries > 0) this.#sendOnSilence(nowMs);
        else if (this.#isDisturbed && this.#state === 'udp' && !this.#attempts.some(isOpen)) {
          // Its servers are down by now, or get it again.
          if (this.group.isDown(false)) this.#end(this.#best);
          else this.#sendAfterDisturbance(nowMs);
        }
        return true;
      }

      case 'no answer':
        // It goes to those that were not asked yet; else the others may have an answer, or what is fetched over TCP.
        if (this.#tcp !== undefined || this.#sendToOthers(nowMs)) return true;
        if (!this.#attempts.some(isOpen)) {
          if (!this.#isDisturbed || this.group.isDown(false)) this.#end(this.#best);
          // At once, and then with each tick.
          else if (this.isInFlight && this.#resends === 0) this.#sendAfterDisturbance(nowMs);
        } else if (this.#best !== null) {
          this.#relayAtMs = Math.min(this.#relayAtMs, nowMs + this.#graceMs);
        }
        return true;

      case 'ask over tcp':
        if (this.#state === 'udp') this.#state = 'tcp';
        this.#tcp!.askNext();
        return true;

      case 'no answer over tcp':
        this.#endTcp();
        if (this.#state !== 'held') this.#schedule(nowMs);
        // The other servers may still have one over UDP.
        if (!this.isOverTcp && nowMs < this.deadlineMs) return this.next('no answer', nowMs);
        this.#end(this.#best);
        return true;
    }
  }

  /** Waits for its `start`, as too many of the same name wait for replies. */
  enqueue(): void {
    this.#state = 'queued';
  }

  /** No client waits any more: it only waits for a late reply. */
  linger(): void {
    this.#state = 'lingering';
    this.traces = undefined;
  }

  /** Ends it; the forwarder is not called. */
  cancel(): void {
    this.#state = 'done';
    this.traces = undefined;
    for (const { sent } of this.#attempts) sent.socket.forget(sent);
    this.#endTcp();
  }

  #end(reply: Buffer | null): void {
    this.#noteTimeouts();
    this.cancel();
    this.#context.onEnd(this, reply, false);
  }

  #endTcp(): void {
    if (this.#state === 'tcp') this.#state = 'udp';
    this.#tcp?.cancel();
    this.#tcp = undefined;
  }

  /** Ends it with SERVFAIL. */
  fail(failure: Failure): void {
    this.#endedBy = failure;
    this.#end(null);
  }

  evict(): void {
    this.#context.onEvict(this);
  }

  /** The slot of one that waits is needed, for its own client if `isOwn`. */
  evictWaiter(waiter: Waiter, isOwn: boolean): void {
    this.#context.onEvict(this, waiter, isOwn);
  }

  /**
   * Once it has answered: lets go of all, so that another question can have it. False if something may still refer to
   * it, that is unless it was sent once; and the second time.
   */
  release(): boolean {
    if (this.#state !== 'done' || this.isPinned || this.index >= 0) return false;
    if (this.waiters.length > 0 || this.#starts !== 1) return false;
    // A query that is sent again over a connection has a copy on another one.
    if (this.#sends !== 1 || this.#resends > 0) return false;
    this.question.clear();
    while (this.#attempts.length > 0) this.#freeAttempt = this.#attempts.pop();
    if (this.#freeAttempt !== undefined) this.#freeAttempt.sent = NOTHING_SENT;
    this.#current = this.#sends = this.#resends = 0;
    this.#isEven = this.#hadBadCookie = this.#isDisturbed = false;
    this.#setBest(null);
    this.#endedBy = this.#failedServer = undefined;
    this.#reason = 'timeout';
    this.#starts = this.startedAtMs = 0;
    return true;
  }

  /** It is asked anew: no server has failed or had it too often, and no ID and port gets too old until its time is over. */
  #renew(nowMs: number): void {
    this.startedAtMs = nowMs;
    this.isProbed = this.#isEven = this.#isDisturbed = false;
    this.#setBest(null);
    this.#endTcp();
    this.#forgetBefore(nowMs - Math.max(0, PAIR_MS - this.#context.options.plan.timeoutMs));
    for (const attempt of this.#attempts)
      attempt.hasFailed = attempt.hasReplied = attempt.isGuessed;
    this.#starts++;
    this.#retries = this.#resends = 0;
    this.#relayAtMs = NEVER;
  }

  /**
   * Whether no client need wait any more: none of its servers replies to anything, although they did before, and
   * sooner. While it has no reply, all of them are probed.
   */
  #isDead(nowMs: number): boolean {
    const ageMs = nowMs - this.startedAtMs;
    if (ageMs < SUSPECT_MS || this.#state === 'queued') return false;
    if (this.isOverTcp || this.#best !== null) return false;
    const { group } = this;
    const limitMs = group.replyLimitMs;
    if (ageMs < limitMs) return false;
    for (const { health } of group.servers) {
      health.suspect(group.probeName, this.startedAtMs, limitMs);
    }
    return ageMs >= DEAD_MS && group.isDown(false);
  }

  /** How long a refusal waits: longer where a server that may reply takes longer. */
  get #graceMs(): number {
    let graceMs = GRACE_MS;
    for (const { hasFailed, server } of this.#attempts) {
      const { replyTime } = server.health;
      if (!hasFailed && replyTime.isKnown) graceMs = Math.max(graceMs, replyTime.limitMs);
    }
    return graceMs;
  }

  // Replies, and what comes in place of one.

  onReply(sent: SentQuery, received: Buffer): void {
    const attempt = this.#attemptOf(sent);
    if (attempt === undefined || attempt.isGuessed || this.#state === 'done') return;
    const { server, query, sentAtMs } = attempt;
    const nowMs = this.now();
    server.health.noteReply(nowMs, query, sentAtMs);
    attempt.hasReplied = true;
    if (attempt.instead !== undefined) this.#noteOtherPort(attempt);
    const ms = nowMs - sentAtMs;
    this.exchanges.replied(server, query, received, isStreamed(server), ms, this.traces);
    server.counts.countReply(rcodeOf(received), ms);
    const outline = this.#context.outline.read(received);
    const judged = this.#judge(attempt, received, nowMs);
    if (judged === 'asked again') return;
    const reply = server.cookies?.strip(received, outline) ?? received;
    if (reply !== received) outline.read(reply);
    if (judged === 'suspect' || (isTruncated(reply) && !isStreamed(server))) {
      if (judged === 'accepted') this.#setBest(Buffer.from(withoutRecords(reply)), server);
      // A reply that arrives twice is fetched over TCP once.
      if (attempt.hasFailed) return;
      attempt.hasFailed = true;
      this.#fetchFrom(server, nowMs);
      return;
    }
    if (isBare(reply) && !isStreamed(server)) {
      this.#offerBare(server, reply, nowMs);
      return;
    }
    const outcome = this.#finishWith(server, reply);
    // After an ignored reply the wait goes on; a bad one counts once per attempt.
    if (outcome === 'finished' || outcome === 'ignored' || attempt.hasFailed) return;
    attempt.hasFailed = true;
    if (outcome === 'refusal') this.#offerRefusal(server, reply);
    server.counts.countBadReply(outcome);
    this.#noteFailure(server, failureOf(outcome, reply));
    this.group.avoid(attempt.index);
    this.next('no answer', nowMs);
  }

  onUnreachable(sent: SentQuery, why?: Unreachable): void {
    const attempt = this.#attemptOf(sent);
    if (attempt === undefined || this.#state === 'done' || attempt.hasFailed) return;
    attempt.hasFailed = true;
    const { server } = attempt;
    const isFirst = !this.#wasDisturbed(attempt.index);
    if (isFirst) this.onTcpError(server, why?.code ?? 'unreachable');
    // Without a reason it is a datagram's, and anyone may have sent that.
    if (why === undefined) attempt.isDisturbed = this.#isDisturbed = true;
    server.health.noteUnreachable(this.group.probeName, why);
    this.group.avoid(attempt.index);
    this.next('no answer', this.now());
  }

  onWrongId(sent: SentQuery): void {
    const attempt = this.#attemptOf(sent);
    if (attempt === undefined || attempt.isGuessed) return;
    attempt.isGuessed = attempt.isDisturbed = attempt.hasFailed = true;
    if (this.#state !== 'udp' && this.#state !== 'tcp') return;
    this.#isDisturbed = true;
    const { server } = attempt;
    const nowMs = this.now();
    // Without a connection for it, another ID and port are as hard to guess as the first ones were.
    const mayFetch = server.tcpSlots.isFree && !server.tcpHealth.hasFailedSince(nowMs);
    if (mayFetch) this.#fetchFrom(server, nowMs);
    else this.next('no answer', nowMs);
  }

  onDelay(): void {
    if (this.#maySend && this.#state !== 'done') this.#sendToOthers(this.now());
  }

  onTcpReply(server: UpstreamServer, reply: Buffer): void {
    // A reply over TCP shows what to expect of those over UDP.
    if (this.question.hasMixedCase) server.caseEcho.learn(this.question.message, reply);
    this.#context.outline.read(reply);
    const outcome = this.#finishWith(server, reply);
    if (outcome === 'finished') return;
    if (outcome === 'refusal') this.#offerRefusal(server, reply);
    if (outcome !== 'ignored') this.#noteFailure(server, failureOf(outcome, reply));
    this.#tcp?.askNext();
  }

  /** Over UDP, too. */
  onTcpError(server: UpstreamServer, code: ExchangeErrorCode): void {
    server.counts.countError(code);
    this.#noteFailure(server, code);
  }

  onTcpEnd(): void {
    this.next('no answer over tcp', this.now());
  }

  /**
   * Judges a reply over UDP: its server is asked again without what it does not know, or with the cookie that it wants;
   * or it may be forged, by its cookie or the case of its question.
   */
  #judge(attempt: Attempt, reply: Buffer, nowMs: number): Judgement {
    const { outline } = this.#context;
    const { server, query } = attempt;
    const { cookies, edns, caseEcho } = server;
    const cookie = attempt.hasCookie ? cookies!.judge(outline) : cookies?.judgeOther(query);
    if (cookie === 'forged') return 'suspect';
    if (cookie === 'again') {
      const isFirst = !this.#hadBadCookie;
      this.#hadBadCookie = true;
      return isFirst && this.#sendOtherwise(attempt, nowMs) ? 'asked again' : 'suspect';
    }
    edns.noteReply(attempt, outline, nowMs);
    // A hint, too: the first sending is still open, and only the reply to the second shows what the server knows.
    if (edns.isRefused(query, reply) && this.#sendOtherwise(attempt, nowMs, true)) {
      return 'asked again';
    }
    const { hasMixedCase, message } = this.question;
    return hasMixedCase && !caseEcho.accepts(message, reply) ? 'suspect' : 'accepted';
  }

  /** `ignored`: the reply counts as if it had not arrived; `malformed`: also when the inspector could not read it. */
  #finishWith(server: UpstreamServer, reply: Buffer): BadReplyReason | 'finished' | 'ignored' {
    const { outline } = this.#context;
    const badReply = badReplyReason(reply, outline);
    if (badReply !== undefined) return badReply;
    const inspected = this.inspector?.(reply, this.question.isShared, outline);
    if (inspected === null) return 'ignored';
    if (inspected !== undefined && isRefusal(inspected)) return 'malformed';
    this.group.prefer(this.group.servers.indexOf(server));
    this.#setBest(inspected ?? reply, server);
    this.#end(this.#best);
    return 'finished';
  }

  #setBest(message: Buffer | null, server?: ServerAddress): void {
    this.#best = message;
    this.#bestServer = server;
  }

  /** Nothing better than the refusal may come: it is passed on then, unless there is a truncated reply. */
  #offerRefusal(server: UpstreamServer, refusal: Buffer): void {
    if (this.#best !== null && isTruncated(this.#best)) return;
    this.#setBest(Buffer.from(bareRefusal(refusal, this.#context.outline)), server);
  }

  /**
   * A reply without a question, which shows less of who sent it: it is passed on when no better one comes in time, from
   * this server either.
   */
  #offerBare(server: UpstreamServer, reply: Buffer, nowMs: number): void {
    if (this.#best === null) this.#setBest(Buffer.from(reply), server);
    this.#relayAtMs = Math.min(this.#relayAtMs, nowMs + this.#graceMs);
    if (this.#maySend) this.#sendToOthers(nowMs);
  }

  #noteFailure(server: UpstreamServer, reason: FailureReason): void {
    this.#failedServer = server;
    this.#reason = reason;
    this.exchanges.failed(server, this.question.message, reason, this.traces);
  }

  /** The question has ended: a server that had it long and never replied has timed out. */
  #noteTimeouts(): void {
    const { options, now } = this.#context;
    for (const attempt of this.#attempts) {
      const { server, sentAtMs, hasFailed, hasReplied } = attempt;
      // From whatever ports it was asked, it counts once.
      if (hasFailed || hasReplied || attempt.instead !== undefined) continue;
      const sinceMs = Math.max(this.startedAtMs, sentAtMs);
      if (now() - sinceMs < options.plan.replyMs) continue;
      server.health.noteTimeout(this.group.probeName, sinceMs);
    }
  }

  // Retry, and the choice of servers, as the table above has it.

  /** When no socket for one server is available, the others are asked. */
  #sendFirst(nowMs: number): boolean {
    const first = this.group.choose(nowMs);
    if (first === ALL_SERVERS) return this.#sendToAll(nowMs);
    this.#current = first;
    return this.#send(first, nowMs) || this.#sendToAll(nowMs);
  }

  /** A client has retransmitted: the other servers are asked too (dnsmasq src/forward.c); false when nothing is sent. */
  sendAgain(nowMs: number): boolean {
    if (!this.#maySend) return false;
    const sends = this.#sends;
    if (this.group.order === 'strict') this.#sendToNext(nowMs);
    else this.#sendToAll(nowMs);
    return this.#sends > sends;
  }

  /** Another client has joined after a while: the server that has the question is asked again; false as above. */
  repeat(nowMs: number): boolean {
    if (!this.#maySend) return false;
    const sends = this.#sends;
    this.#send(this.#current, nowMs);
    return this.#sends > sends;
  }

  get #maySend(): boolean {
    return this.#tcp === undefined && this.#state !== 'queued';
  }

  /** Silence: the next server first, then all. */
  #retransmit(nowMs: number): void {
    this.#retries++;
    this.#schedule(nowMs);
    this.#noteSilence();
    const { order } = this.group;
    const hasUnasked = this.#unaskedCount > 0;
    if (this.#dueAtMs <= nowMs) this.#sendEvenly(nowMs);
    else if (order === 'strict' || (this.#retries === 1 && hasUnasked)) {
      const current = this.#current;
      if (!this.#sendToNext(nowMs)) this.#send(current, nowMs);
    } else this.#sendToAll(nowMs);
  }

  /**
   * The question was sent, now comes a pause, until the time-out at most. In strict order only the next server takes
   * over, so the time is divided among them.
   */
  #schedule(nowMs: number): void {
    const { plan } = this.#context.options;
    const { order, servers } = this.group;
    const remainingMs = plan.timeoutMs - (nowMs - this.startedAtMs);
    const pauseMs =
      order === 'strict' && servers.length > 1
        ? Math.min(plan.delayMs(0), plan.timeoutMs / (servers.length + 1))
        : plan.delayMs(this.#retries);
    this.#dueAtMs = nowMs + Math.min(pauseMs, remainingMs);
  }

  /** Clients still ask after the time-out: all servers get it, evenly from now on. */
  #sendEvenly(nowMs: number): void {
    this.#isEven = true;
    this.#forgetBefore(nowMs - PAIR_MS);
    const sends = this.#sends;
    this.#sendToAll(nowMs);
    this.#dueAtMs = nowMs + (this.#sends > sends ? this.#resendPauseMs : 0);
  }

  /** The servers of the attempts that are open are not preferred, and may be down. */
  #noteSilence(): void {
    for (const attempt of this.#attempts) {
      if (attempt.hasFailed) continue;
      const { server } = attempt;
      this.group.avoid(attempt.index);
      server.health.noteSilence(this.group.probeName, attempt.resentAtMs);
      if (!attempt.isSilent) this.onTcpError(server, 'timeout');
      attempt.isSilent = true;
    }
  }

  /** How many servers were not asked, and are up. */
  get #unaskedCount(): number {
    const { servers } = this.group;
    let count = 0;
    for (let i = 0; i < servers.length; i++) {
      if (!servers[i]!.health.isDown && this.#lastTo(i) === undefined) count++;
    }
    return count;
  }

  /** Sends to the next server that was not asked, in strict order, or to all of them; false when there is none. */
  #sendToOthers(nowMs: number): boolean {
    return this.group.order === 'strict' ? this.#sendToNext(nowMs) : this.#sendToAll(nowMs, true);
  }

  /** Sends to every server, or each that was not asked; false when it can be sent to none. */
  #sendToAll(nowMs: number, isForUnasked = false): boolean {
    let hasSent = false;
    for (let i = 0; i < this.group.servers.length; i++) {
      if (isForUnasked && this.#lastTo(i) !== undefined) continue;
      hasSent = this.#send(i, nowMs) || hasSent;
    }
    return hasSent;
  }

  /** The next server in order that was not asked; false when there is none. */
  #sendToNext(nowMs: number): boolean {
    const { length } = this.group.servers;
    for (let step = 1; step < length; step++) {
      const index = (this.#current + step) % length;
      if (this.#lastTo(index) !== undefined) continue;
      this.#current = index;
      if (this.#send(index, nowMs)) return true;
    }
    return false;
  }

  /**
   * Sends the question to a server; beyond the limit of ports once more from the last one, with the same ID. A
   * server that was asked a moment ago, or often, has it already. False when it cannot be sent, or the server is
   * down.
   */
  #send(index: number, nowMs: number): boolean {
    const server = this.group.servers[index]!;
    if (server.health.isDown) return false;
    const last = this.#lastTo(index);
    if (last !== undefined) {
      const pauseMs = this.#resendPauseMs;
      const isOften = !this.#isEven && this.#resends >= MAX_RESENDS;
      if (isOften || nowMs - last.resentAtMs < pauseMs) return true;
      this.#resends++;
      if (this.#isEven) this.#forgetBefore(nowMs + pauseMs - PAIR_MS, index);
    }
    if (last === undefined) return this.#sendNew(index, nowMs, false);
    if (isOpen(last) && !last.hasReplied && this.#sendElsewhere(index, nowMs)) return true;
    if (this.#countTo(index) < this.#portLimit) return this.#sendNew(index, nowMs, true);
    this.#resend(last, nowMs);
    return true;
  }

  /**
   * From a port that it was not sent from before, as there was no reply: conntrack or a balancer may lead the first one to
   * a server that is silent. False when there is no such port.
   */
  #sendElsewhere(index: number, nowMs: number): boolean {
    if (this.group.servers[index]!.sockets.sendElsewhere === undefined) return false;
    const isAtLimit = this.#portLimit > 1 && this.#countTo(index) >= this.#portLimit;
    if (isAtLimit) return false;
    const silent = this.#attempts.filter((attempt) => attempt.index === index);
    if (!this.#sendNew(index, nowMs, true, false, silent)) return false;
    // Each port more is one more for a forger to hit. The first is where a slow server replies first.
    if (this.#portLimit === 1 && silent.length >= MAX_PORTS) this.#forget(silent[1]!);
    return true;
  }

  /** From how many ports one server is asked, if that is limited by more than what it takes to find a good one. */
  get #portLimit(): number {
    return this.#context.options.portLimit ?? 1;
  }

  #forget(attempt: Attempt): void {
    attempt.sent.socket.forget(attempt.sent);
    this.#attempts.splice(this.#attempts.indexOf(attempt), 1);
  }

  /**
   * It was sent again in vain: from another port if one of its server has had a reply meanwhile, else without EDNS from the
   * first one.
   */
  #sendOnSilence(nowMs: number): void {
    for (let i = 0; i < this.group.servers.length; i++) {
      const last = this.#lastTo(i);
      if (last?.instead === undefined || !isOpen(last) || last.hasReplied) continue;
      const pauseMs = nowMs - last.resentAtMs;
      if (pauseMs < OTHER_PORT_MS || this.#resends >= MAX_RESENDS) continue;
      const { sockets, health } = last.server;
      if (health.isDown) continue;
      const mayMove = sockets.hasReplyElsewhere!(last.sent);
      const hasMoved = mayMove && this.#sendElsewhere(i, nowMs);
      if (hasMoved || (pauseMs >= this.#resendPauseMs && this.#sendPlain(last, nowMs))) {
        this.#resends++;
      }
    }
  }

  /** To the port that it was sent from first, without EDNS; false if there is nothing to leave out, or it was sent so. */
  #sendPlain(last: Attempt, nowMs: number): boolean {
    const first = this.#attemptOf(last.instead!);
    if (first === undefined || first.isPlainAgain || first.hasFailed) return false;
    if (!mayBePlain(first) || this.#plainOf(first, nowMs) === first.query) return false;
    this.#resend(first, nowMs);
    // The silence of one server counts once.
    first.isSilent = true;
    last.resentAtMs = nowMs;
    return true;
  }

  /** The first reply from another port than the first one shows that this one is silent. */
  #noteOtherPort({ server, instead }: Attempt): void {
    const first = this.#attemptOf(instead!);
    if (first?.hasReplied === false) server.sockets.noteSilentPort?.(first.sent);
  }

  #sendNew(
    index: number,
    nowMs: number,
    isRetry: boolean,
    isWithoutEdns = false,
    silent?: readonly Attempt[],
  ): boolean {
    const server = this.group.servers[index]!;
    const { message } = this.question;
    const fitted = isWithoutEdns ? withoutOpt(message) : fittedTo(server, message, nowMs);
    const query = server.cookies?.add(fitted) ?? fitted;
    const { sockets } = server;
    const sent =
      silent === undefined
        ? sockets.send(query, this)
        : sockets.sendElsewhere!(query, this, silent.map(sentOf));
    if (sent === undefined) return false;
    this.exchanges.sent(server, query, isStreamed(server), this.traces);
    const attempt = this.#freeAttempt ?? new Attempt();
    this.#freeAttempt = undefined;
    attempt.index = index;
    attempt.server = server;
    attempt.sent = sent;
    attempt.query = query;
    attempt.hasCookie = query !== fitted;
    attempt.sentAtMs = attempt.resentAtMs = nowMs;
    attempt.isPlainAgain = attempt.hasFailed = attempt.isSilent = attempt.hasReplied = false;
    attempt.isDisturbed = attempt.isGuessed = false;
    attempt.isWithoutEdns = isWithoutEdns;
    attempt.instead = silent?.[0]!.sent;
    this.#attempts.push(attempt);
    this.#sends++;
    server.counts.countQuery(isRetry);
    return true;
  }

  /** What a server that may be silent to EDNS is sent after a time-out. */
  #plainOf({ server, query }: Attempt, nowMs: number): Buffer {
    const { cookies, edns } = server;
    return withoutPlainOpt(cookies === undefined ? query : edns.fit(this.question.message, nowMs));
  }

  /** The same ID and port; after a time-out over UDP without EDNS, to which the server may be silent. */
  #resend(last: Attempt, nowMs: number): void {
    const { server, sent } = last;
    if (mayBePlain(last)) {
      const plain = this.#plainOf(last, nowMs);
      last.isPlainAgain ||= plain !== last.query;
      last.query = plain;
      last.hasCookie = false;
    }
    last.hasFailed = last.isGuessed;
    last.isSilent = false;
    last.resentAtMs = nowMs;
    sent.socket.resend(sent, last.query);
    this.exchanges.sent(server, last.query, isStreamed(server), this.traces);
    this.#sends++;
    server.counts.countQuery(true);
  }

  /** To the same server, as it does not know EDNS, or wants another cookie. */
  #sendOtherwise(attempt: Attempt, nowMs: number, isWithoutEdns = false): boolean {
    // A reply that arrives twice is followed by one query.
    if (attempt.hasFailed) return true;
    attempt.hasFailed = true;
    return this.#sendNew(attempt.index, nowMs, true, isWithoutEdns);
  }

  /** From other ports to the servers whose replies were disturbed: they are up as far as is known. */
  #sendAfterDisturbance(nowMs: number): void {
    for (let i = 0; i < this.group.servers.length; i++) {
      const isUp = !this.group.servers[i]!.health.isDown && this.#lastTo(i)?.isDisturbed === true;
      if (!isUp || this.#resends >= MAX_RESENDS) continue;
      this.#resends++;
      this.#sendNew(i, nowMs, true);
    }
  }

  #wasDisturbed(index: number): boolean {
    for (const attempt of this.#attempts) {
      if (attempt.index === index && attempt.isDisturbed) return true;
    }
    return false;
  }

  /** A shorter pause where the first one is configured (`--fast-dns-retry`), or fits a short time-out. */
  get #resendPauseMs(): number {
    const { plan } = this.#context.options;
    if (this.#isEven) return Math.max(RESEND_PAUSE_MS, plan.timeoutMs / MAX_RESENDS);
    return Math.min(RESEND_PAUSE_MS, plan.delayMs(0));
  }

  // The attempts.

  /** Waits for no reply to what was sent before this time, to one server or all. */
  #forgetBefore(sinceMs: number, to?: number): void {
    for (let i = this.#attempts.length - 1; i >= 0; i--) {
      const { index, sent, sentAtMs } = this.#attempts[i]!;
      if (sentAtMs > sinceMs || (to !== undefined && index !== to)) continue;
      sent.socket.forget(sent);
      this.#attempts.splice(i, 1);
    }
  }

  #attemptOf(sent: SentQuery): Attempt | undefined {
    for (const attempt of this.#attempts) if (attempt.sent === sent) return attempt;
    return undefined;
  }

  #lastTo(index: number): Attempt | undefined {
    for (let i = this.#attempts.length - 1; i >= 0; i--) {
      const attempt = this.#attempts[i]!;
      if (attempt.index === index) return attempt;
    }
    return undefined;
  }

  #countTo(index: number): number {
    let count = 0;
    for (const attempt of this.#attempts) if (attempt.index === index) count++;
    return count;
  }

  // Over TCP.

  /** Its reply is truncated, or may be forged. The others have their part of the time for replies, too. */
  #fetchFrom(server: UpstreamServer, nowMs: number): void {
    if (this.#tcp !== undefined) this.#tcp.add(server);
    else {
      // One that is disturbed may be asked over UDP once more.
      const open = this.#attempts.filter((each) => isOpen(each) || each.isGuessed).length;
      this.#askOverTcp([server], this.#unaskedCount + open, nowMs);
    }
  }

  #askOverTcp(servers: readonly UpstreamServer[], reserved: number, nowMs: number): void {
    this.isPinned = true;
    this.#tcp = new TcpRound(this, this.question.message, servers, this.deadlineMs, reserved);
    this.next('ask over tcp', nowMs);
  }
}

function isOpen({ hasFailed }: Attempt): boolean {
  return !hasFailed;
}

/** After a time-out over UDP. Of a server that has cookies no reply is taken without one. */
function mayBePlain({ server, isSilent }: Attempt): boolean {
  return isSilent && !isStreamed(server) && server.cookies?.isKnown !== true;
}

function sentOf({ sent }: Attempt): SentQuery {
  return sent;
}

/** Whether a reply has no question. */
function isBare(reply: Uint8Array): boolean {
  return readUint16(reply, 4) === 0;
}
