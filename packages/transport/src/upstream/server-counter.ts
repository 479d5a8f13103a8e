import type { ExchangeErrorCode } from '../errors.js';
import type { ReplyFlaw } from './reply-flaw.js';

/** Is notified of everything that happens with one server; what it makes of it is the program's. */
export interface ServerCounter {
  /** Questions sent to the server so far, each time they were. */
  readonly queries: number;
  /** A question was sent; `isRetry`: the same datagram once more, after silence. */
  countQuery(isRetry: boolean): void;
  /** A reply came after so many milliseconds. */
  countReply(rcode: number, ms: number): void;
  /** That reply is no answer. */
  countFlaw(flaw: ReplyFlaw): void;
  /** Why no reply came. */
  countError(code: ExchangeErrorCode): void;
}

/** The counters of all servers, which are known by their texts (`ADDRESS#PORT`). */
export interface ServerCounters {
  of(server: string): ServerCounter;
  /** Only these servers are in use from now on, in this order. */
  retain(servers: ReadonlySet<string>): void;
}
