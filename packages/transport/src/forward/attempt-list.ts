import { type Attempt, attemptOf, type AttemptRules, type Judgement, release } from './attempt.js';
import { withoutPlainOpt } from './edns-support.js';
import { isStreamed } from '../server-address.js';
import type { ServerGroup } from './server-group.js';
import type { ReplyHandler, SentQuery } from './server-sockets.js';
import type { UpstreamServer } from './upstream-servers.js';

/** Between two sendings of a question to one server, whatever asks for them. */
const RESEND_PAUSE_MS = 500;
/** Sendings of a question to servers that were asked before, until its time-out; later this many to each in that time. */
const MAX_RESENDS = 5;
/** An ID and a port are given up after this time: a late reply can still be cached until then. */
const PAIR_MS = 10_000;

/** The attempts of one question, in order; a server may occur more than once, each time with another port. */
export class AttemptList {
  /** The server that is asked in its turn, by its place in the group. */
  current = 0;
  /** How often the question was sent. */
  sends = 0;
  readonly #rules: AttemptRules;
  #group!: ServerGroup;
  #query!: Buffer;
  #handler: ReplyHandler | undefined;
  readonly #attempts: Attempt[] = [];
  /** One of the question before, to be used again. */
  #spare: Attempt | undefined;
  #resends = 0;
  #isEven = false;
  #hadBadCookie = false;

  constructor(rules: AttemptRules) {
    this.#rules = rules;
  }

  /** Begins a question; there is none, or it was cleared. */
  begin(group: ServerGroup, query: Buffer, handler: ReplyHandler): void {
    this.#group = group;
    this.#query = query;
    this.#handler = handler;
  }

  /** As new. */
  clear(): void {
    while (this.#attempts.length > 0) this.#spare = this.#attempts.pop();
    if (this.#spare !== undefined) release(this.#spare);
    this.#handler = undefined;
    this.current = this.sends = this.#resends = 0;
    this.#isEven = this.#hadBadCookie = false;
  }

  /** The attempt that a sent query belongs to. */
  of(sent: SentQuery): Attempt | undefined {
    for (const attempt of this.#attempts) if (attempt.sent === sent) return attempt;
    return undefined;
  }

  /** A reply has arrived. */
  noteReply(attempt: Attempt, reply: Uint8Array, nowMs: number): void {
    const { server, query, sentAtMs } = attempt;
    server.health.noteReply(nowMs, query, sentAtMs);
    attempt.hasReplied = true;
    this.#rules.exchanges.replied(server, query, reply, isStreamed(server), nowMs - sentAtMs);
  }

  /** How many servers were not asked, and are up. */
  get unaskedCount(): number {
    let count = 0;
    for (const [at, { health }] of this.#group.servers.entries()) {
      if (!health.isDown && this.#lastTo(at) === undefined) count++;
    }
    return count;
  }

  /** The attempts that may still get a reply. */
  open(): readonly Attempt[] {
    return this.#attempts.filter(({ hasFailed }) => !hasFailed);
  }

  /** Those may be silent: their servers are not preferred, and may be down. Calls back for each that was not before. */
  noteSilence(onSilent: (server: UpstreamServer) => void): void {
    for (const attempt of this.open()) {
      this.#group.avoid(attempt.at);
      attempt.server.health.noteSilence(this.#group.domain, attempt.resentAtMs);
      if (!attempt.isSilent) onSilent(attempt.server);
      attempt.isSilent = true;
    }
  }

  get haveAllFailed(): boolean {
    return this.#attempts.every(({ hasFailed }) => hasFailed);
  }

  /** Whether a reply may arrive; afterwards to none whose ID and port are too old. */
  mayReply(nowMs: number): boolean {
    this.#forgetBefore(nowMs - PAIR_MS);
    return this.#attempts.length > 0;
  }

  /** The question is asked anew: no attempt has failed, none was made too often, and none gets too old meanwhile. */
  renew(nowMs: number): void {
    this.#resends = 0;
    this.#isEven = false;
    this.#forgetBefore(nowMs - Math.max(0, PAIR_MS - this.#rules.plan.timeoutMs));
    for (const attempt of this.#attempts) attempt.hasFailed = attempt.hasReplied = false;
  }

  /** The question, asked at this time, has ended: a server that had it long and never replied has timed out. */
  end(askedAtMs: number): void {
    for (const { server, sentAtMs, hasFailed, hasReplied } of this.#attempts) {
      if (hasFailed || hasReplied) continue;
      const sinceMs = Math.max(askedAtMs, sentAtMs);
      if (this.#rules.now() - sinceMs < this.#rules.plan.replyMs) continue;
      server.health.noteTimeout(this.#group.domain, sinceMs);
    }
  }

  /** Waits for no reply to any of them. */
  forget(): void {
    for (const { sent } of this.#attempts) sent.socket.forget(sent);
  }

  /**
   * Sends the question to a server; beyond the limit of ports once more from the last one, with the same ID. A
   * server that was asked a moment ago, or often, has it already. False when it cannot be sent, or the server is
   * down.
   */
  send(at: number, nowMs: number): boolean {
    const server = this.#group.servers[at]!;
    if (server.health.isDown) return false;
    const last = this.#lastTo(at);
    if (last !== undefined) {
      const pauseMs = this.#resendPauseMs;
      const isOften = !this.#isEven && this.#resends >= MAX_RESENDS;
      if (isOften || nowMs - last.resentAtMs < pauseMs) return true;
      this.#resends++;
      if (this.#isEven) this.#forgetBefore(nowMs + pauseMs - PAIR_MS, at);
    }
    const count = this.#countTo(at);
    if (last !== undefined && count > 0 && count >= this.#rules.portLimit) {
      this.#resend(last, nowMs);
    } else if (!this.#sendNew(at, nowMs)) return false;
    this.#count(server, last !== undefined);
    return true;
  }

  /** Asks the server that has the question again; false when the pace does not allow it. */
  repeat(nowMs: number): boolean {
    const sends = this.sends;
    this.send(this.current, nowMs);
    return this.sends > sends;
  }

  /** Asks the next server in strict order, else all of them; false when the pace does not allow it. */
  sendFurther(nowMs: number): boolean {
    const sends = this.sends;
    if (this.#group.order === 'strict') this.sendToNext(nowMs);
    else this.sendToAll(nowMs);
    return this.sends > sends;
  }

  /** Clients still ask after the time-out: all servers get it, evenly from now on. Returns the pause that follows. */
  sendEvenly(nowMs: number): number {
    this.#isEven = true;
    this.#forgetBefore(nowMs - PAIR_MS);
    const sends = this.sends;
    this.sendToAll(nowMs);
    return this.sends > sends ? this.#resendPauseMs : 0;
  }

  /**
   * Judges a reply: its server is asked again without what it does not know, or with the cookie that it wants; or it
   * may be forged, by its cookie or the case of its question.
   */
  judge(attempt: Attempt, reply: Uint8Array, nowMs: number, isMixed: boolean): Judgement {
    const { server, query } = attempt;
    const cookie = server.cookies?.judge(query, reply) ?? 'taken';
    if (cookie === 'forged') return 'forged';
    if (cookie === 'again') {
      const isFirst = !this.#hadBadCookie;
      this.#hadBadCookie = true;
      return isFirst && this.#sendOtherwise(attempt, nowMs) ? 'asked again' : 'forged';
    }
    server.edns.noteReply(attempt, reply, nowMs);
    const isRefused = server.edns.isRefused(query, reply, nowMs);
    if (isRefused && this.#sendOtherwise(attempt, nowMs)) return 'asked again';
    return isMixed && !server.caseEcho.accepts(this.#query, reply) ? 'forged' : 'taken';
  }

  /** A reply over TCP tells what to expect of those over UDP. */
  noteTcpReply({ caseEcho, cookies }: UpstreamServer, reply: Uint8Array, isMixed: boolean): void {
    if (isMixed) caseEcho.learn(this.#query, reply);
    cookies?.noteTcpReply();
  }

  #sendOtherwise(attempt: Attempt, nowMs: number): boolean {
    // A reply that arrives twice is followed by one query.
    if (attempt.hasFailed) return true;
    attempt.hasFailed = true;
    if (!this.#sendNew(attempt.at, nowMs)) return false;
    this.#count(attempt.server, true);
    return true;
  }

  #count(server: UpstreamServer, isRetry: boolean): void {
    this.sends++;
    server.counts.countQuery(isRetry);
  }

  /** The same ID and port; after a time-out over UDP without EDNS, to which the server may be silent. */
  #resend(last: Attempt, nowMs: number): void {
    if (last.isSilent && !isStreamed(last.server)) {
      const { cookies, edns } = last.server;
      const plain = withoutPlainOpt(
        cookies === undefined ? last.query : edns.fit(this.#query, nowMs),
      );
      last.isPlainAgain ||= plain !== last.query;
      last.query = plain;
    }
    last.hasFailed = last.isSilent = false;
    last.resentAtMs = nowMs;
    last.sent.socket.resend(last.sent, last.query);
    this.#rules.exchanges.sent(last.server, last.query, isStreamed(last.server));
  }

  #sendNew(at: number, nowMs: number): boolean {
    const server = this.#group.servers[at]!;
    const fitted = server.edns.fit(this.#query, nowMs);
    const query = server.cookies?.add(fitted) ?? fitted;
    const sent = this.#handler && server.sockets.send(query, this.#handler);
    if (sent === undefined) return false;
    this.#rules.exchanges.sent(server, query, isStreamed(server));
    this.#attempts.push(attemptOf(this.#spare, at, server, sent, query, nowMs));
    this.#spare = undefined;
    return true;
  }

  /** Sends to every server; false when it can be sent to none. */
  sendToAll(nowMs: number): boolean {
    let hasSent = false;
    for (let at = 0; at < this.#group.servers.length; at++)
      hasSent = this.send(at, nowMs) || hasSent;
    return hasSent;
  }

  /** Sends to the next server that was not asked, in strict order, or to all of them; false when there is none. */
  sendToOthers(nowMs: number): boolean {
    if (this.#group.order === 'strict') return this.sendToNext(nowMs);
    let hasSent = false;
    for (let at = 0; at < this.#group.servers.length; at++) {
      if (this.#lastTo(at) === undefined) hasSent = this.send(at, nowMs) || hasSent;
    }
    return hasSent;
  }

  /** The next server in order that was not asked; false when there is none. */
  sendToNext(nowMs: number): boolean {
    const { length } = this.#group.servers;
    for (let step = 1; step < length; step++) {
      const at = (this.current + step) % length;
      if (this.#lastTo(at) !== undefined) continue;
      this.current = at;
      if (this.send(at, nowMs)) return true;
    }
    return false;
  }

  /** A shorter pause where the first one is configured (`--fast-dns-retry`), or fits a short time-out. */
  get #resendPauseMs(): number {
    const { plan } = this.#rules;
    if (this.#isEven) return Math.max(RESEND_PAUSE_MS, plan.timeoutMs / MAX_RESENDS);
    return Math.min(RESEND_PAUSE_MS, plan.delayMs(0));
  }

  /** Waits for no reply to what was sent before this time, to one server or all. */
  #forgetBefore(sinceMs: number, to?: number): void {
    for (let i = this.#attempts.length - 1; i >= 0; i--) {
      const { at, sent, sentAtMs } = this.#attempts[i]!;
      if (sentAtMs > sinceMs || (to !== undefined && at !== to)) continue;
      sent.socket.forget(sent);
      this.#attempts.splice(i, 1);
    }
  }

  #lastTo(at: number): Attempt | undefined {
    for (let i = this.#attempts.length - 1; i >= 0; i--) {
      const attempt = this.#attempts[i]!;
      if (attempt.at === at) return attempt;
    }
    return undefined;
  }

  #countTo(at: number): number {
    let count = 0;
    for (const attempt of this.#attempts) if (attempt.at === at) count++;
    return count;
  }
}
