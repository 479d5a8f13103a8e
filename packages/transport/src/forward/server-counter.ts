import type { ExchangeErrorCode } from '../errors.js';
import type { ReplyFlaw } from './reply-flaw.js';

/** Is notified of every event of one server. */
export interface ServerCounter {
  /** Queries sent to the server so far, retransmissions included. */
  readonly queries: number;
  /** A query was sent; `isRetry`: the same datagram once more, after silence. */
  countQuery(isRetry: boolean): void;
  /** A reply arrived after this many milliseconds. */
  countReply(rcode: number, ms: number): void;
  /** That reply is no answer. */
  countFlaw(flaw: ReplyFlaw): void;
  /** Why no reply arrived. */
  countError(code: ExchangeErrorCode): void;
}

/** The counters of all servers, by their texts (`ADDRESS#PORT`). */
export interface ServerCounters {
  of(server: string): ServerCounter;
  /** Only these servers are in use from now on, in this order. */
  retain(servers: ReadonlySet<string>): void;
}
