import type { RepliedQuery } from './edns-support.js';
import type { ExchangeObservers } from './exchange-observer.js';
import type { RetryPlan } from './retry-plan.js';
import type { SentQuery } from './server-sockets.js';
import type { UpstreamServer } from './upstream-servers.js';

/** One sending of a question to one server, and its outcome. */
export interface Attempt extends RepliedQuery {
  /** The server's index in the group. */
  at: number;
  server: UpstreamServer;
  sent: SentQuery;
  /** What was sent last, and whether that is the query without the OPT record of the one before. */
  query: Buffer;
  isPlainAgain: boolean;
  sentAtMs: number;
  /** When the same datagram was last sent. */
  resentAtMs: number;
  hasFailed: boolean;
  /** It had no reply in time, which is counted. */
  isSilent: boolean;
  hasReplied: boolean;
}

/** Of a reply. `forged`: it may be, so the question is asked over TCP. */
export type Judgement = 'taken' | 'forged' | 'asked again';

/** What the attempts of a question depend on. */
export interface AttemptRules {
  readonly plan: RetryPlan;
  /** How many source ports one question uses per server. */
  readonly portLimit: number;
  readonly exchanges: ExchangeObservers;
  now(): number;
}

/** What was sent for an attempt that is over. */
const NOT_SENT: SentQuery = { socket: { resend: () => undefined, forget: () => undefined } };

/** An attempt of this time, in the place of one that is over. */
export function attemptOf(
  spare: Attempt | undefined,
  at: number,
  server: UpstreamServer,
  sent: SentQuery,
  query: Buffer,
  nowMs: number,
): Attempt {
  if (spare === undefined) {
    const outcome = { isPlainAgain: false, hasFailed: false, isSilent: false, hasReplied: false };
    return { at, server, sent, query, sentAtMs: nowMs, resentAtMs: nowMs, ...outcome };
  }
  spare.at = at;
  spare.server = server;
  spare.sent = sent;
  spare.query = query;
  spare.sentAtMs = spare.resentAtMs = nowMs;
  spare.isPlainAgain = spare.hasFailed = spare.isSilent = spare.hasReplied = false;
  return spare;
}

/** An attempt that is over: nothing that was sent for it can be forgotten once more. */
export function release(attempt: Attempt): void {
  attempt.sent = NOT_SENT;
}
