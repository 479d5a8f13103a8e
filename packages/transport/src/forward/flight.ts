import type { Query } from '@kube-dns/wire';
import type { ExchangeErrorCode } from '../errors.js';
import { AskedQuestion } from './asked-question.js';
import { AttemptList } from './attempt-list.js';
import { BestReply } from './best-reply.js';
import { Place } from './fair-places.js';
import type { FlightOwner, ReplyInspector } from './flight-owner.js';
import { LastFailure } from './last-failure.js';
import type { QuestionKey } from './question-key.js';
import { isTruncated, withoutRecords } from './cut-reply.js';
import type { Failure } from './failure.js';
import { HOLD_MS, patienceMs } from './patience.js';
import { type FailureReason, failureOf, flawOf, isRefusal, rcodeOf } from './reply-flaw.js';
import { NEVER, RetryClock } from './retry-clock.js';
import { isStreamed } from '../server-address.js';
import { ALL_SERVERS, type ServerGroup } from './server-group.js';
import { TableEntry } from './table-entry.js';
import { type TcpRoundOwner, TcpRound } from './tcp-round.js';
import type { UpstreamServer } from './upstream-servers.js';
import type { ReplyHandler, SentQuery, Unreachable } from './server-sockets.js';
import type { Waiter } from './waiter.js';

/**
 * One question on its way to the servers of a group, over UDP until a reply is truncated, or over TCP. It ends with
 * the first usable reply; SERVFAIL and REFUSED are answers only when nothing better comes. Then another one can have it.
 */
export class Flight extends TableEntry implements ReplyHandler, TcpRoundOwner {
  readonly asked = new AskedQuestion();
  readonly waiters: Waiter[] = [];
  readonly best = new BestReply();
  readonly attempts: AttemptList;
  readonly exchanges: FlightOwner['exchanges'];
  group!: ServerGroup;
  isOverTcp = false;
  inspector: ReplyInspector | undefined;
  /** The place that the client has. */
  readonly taken = new Place<Flight>(this);
  /** Whether it was asked if the question is in a loop. */
  isProbed = false;
  /** Set where something may refer to it longer than the table: then no other question has it. */
  isKept = false;
  startedAtMs = 0;
  /** Until then the question is retransmitted; afterwards it only waits for late replies. */
  deadlineMs = 0;
  readonly #owner: FlightOwner;
  readonly #clock: RetryClock;
  readonly #lastFailure = new LastFailure();
  /** Set while the question is asked over TCP; nothing is retransmitted over UDP meanwhile, but replies are taken. */
  #tcp: TcpRound | undefined;
  #isFinished = true;

  constructor(owner: FlightOwner) {
    super();
    this.#owner = owner;
    this.exchanges = owner.exchanges;
    this.attempts = new AttemptList(owner);
    this.#clock = new RetryClock(owner.plan);
  }

  /** Becomes the question of a client's query, which has this key, to these servers; it is new, or was released. */
  begin(query: Query, key: QuestionKey, group: ServerGroup): void {
    const mixesCase = this.#owner.options.mixesCase === true && !group.isStreamed;
    this.asked.set(query, key, mixesCase, this.#owner);
    this.group = group;
    // Over connections that are kept there is one way for all questions, and replies are hard to forge.
    this.isOverTcp = query.isOverTcp && !group.isStreamed;
    this.isKept = group.hasStreamed;
    this.#clock.begin(group);
    this.attempts.begin(group, this.asked.query, this);
    this.#isFinished = false;
  }

  /**
   * Once it has answered: lets go of all, so that another question can have it. False if something may still refer to
   * it, that is unless it was sent once, as a datagram; and the second time.
   */
  release(): boolean {
    if (!this.#isFinished || this.isKept || this.place >= 0 || this.waiters.length > 0)
      return false;
    if (this.#clock.starts !== 1 || this.attempts.sends !== 1) return false;
    this.asked.clear();
    this.attempts.clear();
    this.best.set(null);
    this.#lastFailure.clear();
    this.startedAtMs = 0;
    return true;
  }

  /**
   * Sends the question, also again after its deadline; while all servers are down it waits for the reply to a
   * probe. False when no server can be reached.
   */
  start(nowMs: number): boolean {
    this.startedAtMs = nowMs;
    this.isProbed = false;
    this.best.set(null);
    this.attempts.renew(nowMs);
    this.#endTcp();
    this.#clock.start(nowMs);
    const isAwaited = this.group.probe(nowMs, this.isOverTcp);
    this.#clock.heldUntilMs = this.group.isDown(this.isOverTcp) ? nowMs + HOLD_MS : NEVER;
    if (this.#clock.heldUntilMs !== NEVER) return isAwaited;
    if (this.isOverTcp) {
      this.#askOverTcp(this.group.inOrder(), 0);
      return true;
    }
    const first = this.group.choose(nowMs);
    if (first === ALL_SERVERS) return this.attempts.sendToAll(nowMs);
    this.attempts.current = first;
    // When no socket for one server is available, the others are asked.
    return this.attempts.send(first, nowMs) || this.attempts.sendToAll(nowMs);
  }

  /** A client has retransmitted: the other servers are asked too (dnsmasq src/forward.c); false when nothing is sent. */
  sendAgain(nowMs: number): boolean {
    return this.#isOverUdp && this.attempts.sendFurther(nowMs);
  }

  /** Another client has joined after a while: the server that has the question is asked again; false as above. */
  repeat(nowMs: number): boolean {
    return this.#isOverUdp && this.attempts.repeat(nowMs);
  }

  /** Does what is due; called every 50 ms. */
  tick(nowMs: number): void {
    if (this.#clock.heldUntilMs !== NEVER) this.#checkServers(nowMs);
    else if (this.#tcp !== undefined) return;
    else if (nowMs >= this.#clock.relayAtMs) this.#owner.finish(this, this.expire(), true);
    else if (nowMs >= this.#clock.dueAtMs && nowMs < this.deadlineMs) this.#retransmit(nowMs);
  }

  /** Why there is no reply. */
  get failure(): Failure {
    return this.#lastFailure.of(this.group, this.attempts.current);
  }

  /** Its time is over; returns the best there was. */
  expire(): Buffer | null {
    this.attempts.end(this.startedAtMs);
    return this.best.message;
  }

  /** Ends it with SERVFAIL. */
  fail(failure: Failure): void {
    this.#lastFailure.ended = failure;
    this.#finish(null);
  }

  /** Ends it without a reply. */
  cancel(): void {
    this.#isFinished = true;
    this.attempts.forget();
    this.#endTcp();
  }

  now(): number {
    return this.#owner.now();
  }

  onReply(sent: SentQuery, received: Buffer): void {
    const attempt = this.attempts.of(sent);
    if (attempt === undefined || this.#isFinished) return;
    const { server } = attempt;
    const nowMs = this.#owner.now();
    this.attempts.noteReply(attempt, received, nowMs);
    // What is fetched over TCP may also come from another server.
    if (this.#tcp !== undefined && attempt.hasFailed) return;
    server.counts.countReply(rcodeOf(received), nowMs - attempt.sentAtMs);
    const judged = this.attempts.judge(attempt, received, nowMs, this.asked.hasMixedCase);
    if (judged === 'asked again') return;
    const reply = server.cookies?.strip(received) ?? received;
    if (judged === 'forged' || (isTruncated(reply) && !isStreamed(server))) {
      if (judged === 'taken') this.best.keep(withoutRecords(reply, this.#owner.cursor), server);
      // A reply that arrives twice is fetched over TCP once.
      if (attempt.hasFailed) return;
      attempt.hasFailed = true;
      this.#fetchFrom(server);
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
    const attempt = this.attempts.of(sent);
    if (attempt === undefined || this.#isFinished || attempt.hasFailed) return;
    attempt.hasFailed = true;
    this.onTcpError(attempt.server, why?.code ?? 'unreachable');
    attempt.server.health.noteUnreachable(this.group.domain, why);
    this.group.avoid(attempt.at);
    this.#advance(this.#owner.now());
  }

  onDelay(): void {
    if (this.#isOverUdp && !this.#isFinished) this.attempts.sendToOthers(this.#owner.now());
  }

  onTcpReply(server: UpstreamServer, reply: Buffer): void {
    this.attempts.noteTcpReply(server, reply, this.asked.hasMixedCase);
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

  /** The other servers may still have an answer over UDP. */
  onTcpEnd(): void {
    this.#endTcp();
    const nowMs = this.#owner.now();
    this.#clock.pause(nowMs);
    if (this.isOverTcp || nowMs >= this.deadlineMs) this.#finish(this.best.message);
    else this.#advance(nowMs);
  }

  get #isOverUdp(): boolean {
    return this.#tcp === undefined && !this.isQueued;
  }

  #noteFailure(server: UpstreamServer, reason: FailureReason): void {
    this.#lastFailure.note(server, reason);
    this.exchanges.failed(server, this.asked.query, reason);
  }

  /** All servers were down: sends the question when one is up again, or gives up. */
  #checkServers(nowMs: number): void {
    const isDown = this.group.isDown(this.isOverTcp);
    if (isDown ? nowMs >= this.#clock.heldUntilMs : !this.start(nowMs)) this.#finish(null);
  }

  /** A server had no answer: asks those that were not asked yet, or waits for the others, or for what is fetched. */
  #advance(nowMs: number): void {
    if (this.#tcp !== undefined || this.attempts.sendToOthers(nowMs)) return;
    if (this.attempts.haveAllFailed) this.#finish(this.best.message);
    else if (this.best.message !== null) {
      this.#clock.relayBy(nowMs + patienceMs(this.attempts.open()));
    }
  }

  /** Silence: the next server first, then all. */
  #retransmit(nowMs: number): void {
    this.#clock.retries++;
    this.#clock.pause(nowMs);
    this.attempts.noteSilence((server) => this.onTcpError(server, 'timeout'));
    const wasForAll = this.attempts.unaskedCount === 0;
    if (this.#clock.dueAtMs <= nowMs) this.#clock.dueAtMs = nowMs + this.attempts.sendEvenly(nowMs);
    else if (this.group.order === 'strict' || (this.#clock.retries === 1 && !wasForAll)) {
      const { current } = this.attempts;
      if (!this.attempts.sendToNext(nowMs)) this.attempts.send(current, nowMs);
    } else this.attempts.sendToAll(nowMs);
  }

  /** Its reply is truncated, or may be forged. The others have their part of the time for replies, too. */
  #fetchFrom(server: UpstreamServer): void {
    const others = this.attempts.unaskedCount + this.attempts.open().length;
    if (this.#tcp === undefined) this.#askOverTcp([server], others);
    else this.#tcp.add(server);
  }

  #askOverTcp(servers: readonly UpstreamServer[], reserved: number): void {
    this.isKept = true;
    this.#tcp = new TcpRound(this, this.asked.query, servers, this.deadlineMs, reserved);
    this.#tcp.askNext();
  }

  #endTcp(): void {
    this.#tcp?.cancel();
    this.#tcp = undefined;
  }

  /** `ignored`: the reply counts as if it had not arrived; `malformed`: the inspector could not read it. */
  #accept(server: UpstreamServer, reply: Buffer): 'finished' | 'ignored' | 'malformed' {
    const seen = this.inspector?.(reply, this.asked.isShared, this.#owner.outline);
    if (seen === null) return 'ignored';
    if (seen !== undefined && isRefusal(seen)) return 'malformed';
    this.group.prefer(this.group.servers.indexOf(server));
    this.#finish(this.best.set(seen ?? reply, server));
    return 'finished';
  }

  #finish(reply: Buffer | null): void {
    this.attempts.end(this.startedAtMs);
    this.cancel();
    this.#owner.finish(this, reply);
  }
}
