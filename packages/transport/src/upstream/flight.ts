import type { ExchangeErrorCode } from '../errors.js';
import type { AttemptList } from './attempt-list.js';
import type { BestReply } from './best-reply.js';
import type { TakenPlace } from './fair-places.js';
import type { FlightMemory } from './flight-memory.js';
import type { FlightOwner, ReplyInspector } from './flight-owner.js';
import { mixCase } from './name-case.js';
import { type AskedQuestion, UNSHARED } from './question-key.js';
import { isTruncated, withoutRecords } from './cut-reply.js';
import type { Failure } from './failure.js';
import { HOLD_MS, NOT_HELD, patienceMs } from './patience.js';
import { type FailureReason, failureOf, flawOf, isRefusal, rcodeOf } from './reply-flaw.js';
import type { RetryClock } from './retry-clock.js';
import { isStreamed } from '../server-address.js';
import { ALL_SERVERS, type ServerGroup } from './server-group.js';
import { type TcpRoundOwner, TcpRound } from './tcp-round.js';
import type { UpstreamServer } from './upstream-servers.js';
import type { ReplyHandler, SentQuery, Unreachable } from './server-sockets.js';
import type { Waiter } from './waiter.js';

/**
 * One question on its way to the servers of a group, over UDP until a reply is truncated, or over TCP. It
 * ends with the first usable reply; SERVFAIL and REFUSED are answers only when nothing better comes.
 */
export class Flight implements ReplyHandler, TcpRoundOwner {
  readonly memory: FlightMemory;
  readonly group: ServerGroup;
  readonly asked: AskedQuestion;
  readonly isOverTcp: boolean;
  readonly #hasMixedCase: boolean;
  inspector: ReplyInspector | undefined;
  readonly waiters: Waiter[];
  /** The address of the client that holds the place; empty for the program itself. */
  client = '';
  /**
   * Set by the table: index in its list, the next flight of the same bucket, the place that the client has, whether
   * the group counts it, whether it waits to be sent, and whether there were others of its question.
   */
  place = -1;
  next: Flight | undefined;
  taken: TakenPlace<Flight> | undefined;
  isCounted = false;
  isQueued = false;
  hasSibling = false;
  /** Others may join, and the reply be cached: the question is shared, and its servers are still the same. */
  isShared: boolean;
  /** Whether it was asked if the question is in a loop. */
  isProbed = false;
  startedAtMs = 0;
  /** Until then the question is retransmitted; afterwards it only waits for late replies. */
  deadlineMs = 0;
  readonly best: BestReply;
  readonly exchanges: FlightOwner['exchanges'];
  readonly #owner: FlightOwner;
  readonly #attempts: AttemptList;
  readonly #clock: RetryClock;
  /** Set while the question is asked over TCP; nothing is sent over UDP meanwhile. */
  #tcp: TcpRound | undefined;
  #hasTcp = false;
  #heldUntilMs = NOT_HELD;
  #relayAtMs = Number.POSITIVE_INFINITY;
  #isFinished = false;

  /** Its question is in the memory. */
  constructor(owner: FlightOwner, group: ServerGroup, memory: FlightMemory, isOverTcp: boolean) {
    const { asked, attempts, waiters, best, clock } = memory;
    this.memory = memory;
    this.#owner = owner;
    this.exchanges = owner.exchanges;
    this.group = group;
    this.asked = asked;
    this.waiters = waiters;
    this.best = best;
    this.isShared = asked.variant !== UNSHARED;
    // Over connections that are kept there is one way for all questions, and replies are hard to forge.
    this.isOverTcp = isOverTcp && !group.isStreamed;
    this.#hasMixedCase = owner.options.mixesCase === true && this.isShared && !group.isStreamed;
    if (this.#hasMixedCase) mixCase(asked.query);
    this.#clock = clock;
    this.#attempts = attempts;
    memory.begin(group, this);
  }

  /**
   * Sends the question, also again after its deadline; while all servers are down it waits for the reply to a
   * probe. False when no server can be reached.
   */
  start(nowMs: number, deadlineMs: number): boolean {
    this.startedAtMs = nowMs;
    this.deadlineMs = deadlineMs;
    this.isProbed = false;
    this.#relayAtMs = Number.POSITIVE_INFINITY;
    this.best.set(null);
    this.#attempts.renew(nowMs);
    this.#endTcp();
    this.#clock.start(nowMs);
    const isAwaited = this.group.probe(nowMs, this.isOverTcp);
    this.#heldUntilMs = this.group.isDown(this.isOverTcp) ? nowMs + HOLD_MS : NOT_HELD;
    if (this.#heldUntilMs !== NOT_HELD) return isAwaited;
    if (this.isOverTcp) {
      this.#askOverTcp(this.group.inOrder(), 0);
      return true;
    }
    const first = this.group.choose(nowMs);
    if (first === ALL_SERVERS) return this.#attempts.sendToAll(nowMs);
    this.#attempts.current = first;
    // When no socket for one server is available, the others are asked.
    return this.#attempts.send(first, nowMs) || this.#attempts.sendToAll(nowMs);
  }

  /** A client has retransmitted: the other servers are asked too (dnsmasq src/forward.c); false when nothing is sent. */
  sendAgain(nowMs: number): boolean {
    return this.#isOverUdp && this.#attempts.sendFurther(nowMs);
  }

  /** Another client has joined after a while: the server that has the question is asked again; false as above. */
  repeat(nowMs: number): boolean {
    return this.#isOverUdp && this.#attempts.repeat(nowMs);
  }

  /** Does what is due; called every 50 ms. */
  tick(nowMs: number): void {
    if (this.#heldUntilMs !== NOT_HELD) this.#checkServers(nowMs);
    else if (this.#tcp !== undefined) return;
    else if (nowMs >= this.#relayAtMs) this.#owner.finish(this, this.expire(), true);
    else if (nowMs >= this.#clock.dueAtMs && nowMs < this.deadlineMs) this.#retransmit(nowMs);
  }

  /** Whether a late reply may arrive. */
  mayReply(nowMs: number): boolean {
    return this.#attempts.mayReply(nowMs);
  }

  /** Why there is no reply. */
  get failure(): Failure {
    return this.memory.lastFailure.of(this.group, this.#attempts.current);
  }

  /** Its time is over; returns the best there was. */
  expire(): Buffer | null {
    this.#attempts.end(this.startedAtMs);
    return this.best.message;
  }

  /** Ends it with SERVFAIL. */
  fail(failure: Failure): void {
    this.memory.lastFailure.ended = failure;
    this.#finish(null);
  }

  /** Ends it without a reply. */
  cancel(): void {
    this.#isFinished = true;
    this.#attempts.forget();
    this.#endTcp();
  }

  /** Whether nothing refers to its memory after its end: it was sent once, over UDP, and no probe is for it. */
  get isPlain(): boolean {
    const isOnce = this.#clock.starts === 1 && this.#attempts.sends === 1;
    return isOnce && !this.#hasTcp && !this.group.isStreamed && !this.isProbed;
  }

  now(): number {
    return this.#owner.now();
  }

  onReply(sent: SentQuery, received: Buffer): void {
    const attempt = this.#attempts.of(sent);
    if (attempt === undefined || this.#isFinished) return;
    const { server } = attempt;
    const nowMs = this.#owner.now();
    this.#attempts.noteReply(attempt, received, nowMs);
    if (this.#tcp !== undefined) return;
    server.counts.countReply(rcodeOf(received), nowMs - attempt.sentAtMs);
    const judged = this.#attempts.judge(attempt, received, nowMs, this.#hasMixedCase);
    if (judged === 'asked again') return;
    const reply = server.cookies?.strip(received) ?? received;
    if (judged === 'forged' || (isTruncated(reply) && !isStreamed(server))) {
      if (judged === 'taken') this.best.keep(withoutRecords(reply, this.#owner.cursor), server);
      // A reply that arrives twice is fetched over TCP once.
      if (!attempt.hasFailed) this.#askOverTcp([server], this.#attempts.unaskedCount);
      attempt.hasFailed = true;
      return;
    }
    const flaw = flawOf(reply, this.#owner.outline.read(reply)) ?? this.#accept(server, reply);
    // After an ignored reply the wait goes on; a flawed reply counts once per attempt.
    if (flaw === 'finished' || flaw === 'ignored' || attempt.hasFailed) return;
    attempt.hasFailed = true;
    if (flaw === 'refusal') this.best.offer(reply, server, this.#owner.cursor);
    server.counts.countFlaw(flaw);
    this.#noteFailure(server, failureOf(flaw, reply));
    this.group.avoid(attempt.at);
    this.#advance(nowMs);
  }

  onUnreachable(sent: SentQuery, why?: Unreachable): void {
    const attempt = this.#attempts.of(sent);
    if (attempt === undefined || this.#isFinished || attempt.hasFailed) return;
    attempt.hasFailed = true;
    this.onTcpError(attempt.server, why?.code ?? 'unreachable');
    attempt.server.health.noteUnreachable(this.group.domain, why);
    this.group.avoid(attempt.at);
    if (this.#tcp === undefined) this.#advance(this.#owner.now());
  }

  onDelay(): void {
    if (this.#isOverUdp && !this.#isFinished) this.#attempts.sendToOthers(this.#owner.now());
  }

  onTcpReply(server: UpstreamServer, reply: Buffer): void {
    this.#attempts.noteTcpReply(server, reply, this.#hasMixedCase);
    const flaw = flawOf(reply, this.#owner.outline.read(reply)) ?? this.#accept(server, reply);
    if (flaw === 'finished') return;
    if (flaw === 'refusal') this.best.offer(reply, server, this.#owner.cursor);
    if (flaw !== 'ignored') this.#noteFailure(server, failureOf(flaw, reply));
    this.#tcp?.askNext();
  }

  /** Over UDP, too. */
  onTcpError(server: UpstreamServer, code: ExchangeErrorCode): void {
    server.counts.countError(code);
    this.#noteFailure(server, code);
  }

  /** The servers that were not asked over UDP may still have an answer. */
  onTcpEnd(): void {
    this.#endTcp();
    const nowMs = this.#owner.now();
    if (this.isOverTcp || nowMs >= this.deadlineMs || !this.#attempts.sendToOthers(nowMs))
      this.#finish(this.best.message);
    else this.#clock.pause(nowMs);
  }

  get #isOverUdp(): boolean {
    return this.#tcp === undefined && !this.isQueued;
  }

  #noteFailure(server: UpstreamServer, reason: FailureReason): void {
    this.memory.lastFailure.note(server, reason);
    this.exchanges.failed(server, this.asked.query, reason);
  }

  /** All servers were down: sends the question when one is up again, or gives up. */
  #checkServers(nowMs: number): void {
    const isDown = this.group.isDown(this.isOverTcp);
    const isOver = isDown ? nowMs >= this.#heldUntilMs : !this.start(nowMs, this.deadlineMs);
    if (isOver) this.#finish(null);
  }

  /** A server had no answer: asks those that were not asked yet, or waits for the others. */
  #advance(nowMs: number): void {
    if (this.#attempts.sendToOthers(nowMs)) return;
    if (this.#attempts.haveAllFailed) this.#finish(this.best.message);
    else if (this.best.message !== null) {
      this.#relayAtMs = Math.min(this.#relayAtMs, nowMs + patienceMs(this.#attempts.open()));
    }
  }

  /** Silence: the next server first, then all. */
  #retransmit(nowMs: number): void {
    this.#clock.retries++;
    this.#clock.pause(nowMs);
    this.#attempts.noteSilence((server) => this.onTcpError(server, 'timeout'));
    const wasForAll = this.#attempts.unaskedCount === 0;
    if (this.#clock.dueAtMs <= nowMs)
      this.#clock.dueAtMs = nowMs + this.#attempts.sendEvenly(nowMs);
    else if (this.group.order === 'strict' || (this.#clock.retries === 1 && !wasForAll)) {
      const { current } = this.#attempts;
      if (!this.#attempts.sendToNext(nowMs)) this.#attempts.send(current, nowMs);
    } else this.#attempts.sendToAll(nowMs);
  }

  #askOverTcp(servers: readonly UpstreamServer[], reserved: number): void {
    this.#hasTcp = true;
    this.#tcp = new TcpRound(this, this.asked.query, servers, this.deadlineMs, reserved);
    this.#tcp.askNext();
  }

  #endTcp(): void {
    this.#tcp?.cancel();
    this.#tcp = undefined;
  }

  /** `ignored`: the reply counts as if it had not arrived; `malformed`: the inspector could not read it. */
  #accept(server: UpstreamServer, reply: Buffer): 'finished' | 'ignored' | 'malformed' {
    const seen = this.inspector?.(reply, this.isShared, this.#owner.outline);
    if (seen === null) return 'ignored';
    if (seen !== undefined && isRefusal(seen)) return 'malformed';
    this.group.prefer(this.group.servers.indexOf(server));
    this.#finish(this.best.set(seen ?? reply, server));
    return 'finished';
  }

  #finish(reply: Buffer | null): void {
    this.#attempts.end(this.startedAtMs);
    this.cancel();
    this.#owner.finish(this, reply);
  }
}
