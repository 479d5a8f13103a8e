import type { RepliedQuery } from './edns-support.js';
import type { ExchangeObservers } from './exchange-observer.js';
import type { RetryPlan } from './retry-plan.js';
import type { SentQuery } from './server-sockets.js';
import type { UpstreamServer } from './upstream-servers.js';

/** One sending of a question to one server, and its outcome. */
export interface Attempt extends RepliedQuery {
  /** The server's index in the group. */
  readonly at: number;
  readonly server: UpstreamServer;
  readonly sent: SentQuery;
  /** What was sent last, and whether that is the query without the OPT record of the one before. */
  query: Buffer;
  isPlainAgain: boolean;
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
