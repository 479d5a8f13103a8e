import type { ExchangeErrorCode } from '../errors.js';
import type { ServerAddress } from '../server-address.js';
import type { FailureReason, ReplyFlaw } from './failure.js';

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

/** Sees what is sent to servers and what they reply. What it is given is valid only during the call. */
export interface ExchangeObserver {
  /** A query is sent, also again; `isOverTcp` is true also of TLS. */
  sent?(server: ServerAddress, query: Uint8Array, isOverTcp: boolean): void;
  /** A reply has arrived, `ms` after its query was sent; it may be refused for what is in it. */
  replied?(
    server: ServerAddress,
    query: Uint8Array,
    reply: Uint8Array,
    isOverTcp: boolean,
    ms: number,
  ): void;
  /** A server has no answer to a question, whose query this is as it came from the client. */
  failed?(server: ServerAddress, query: Buffer, reason: FailureReason): void;
}

/** All that observe the exchanges of a forwarder. */
export class ExchangeObservers implements Required<ExchangeObserver> {
  readonly #observers: ExchangeObserver[] = [];

  add(observer: ExchangeObserver): void {
    this.#observers.push(observer);
  }

  remove(observer: ExchangeObserver): void {
    const index = this.#observers.indexOf(observer);
    if (index >= 0) this.#observers.splice(index, 1);
  }

  sent(server: ServerAddress, query: Uint8Array, isOverTcp: boolean): void {
    for (const observer of this.#observers) observer.sent?.(server, query, isOverTcp);
  }

  replied(
    server: ServerAddress,
    query: Uint8Array,
    reply: Uint8Array,
    isOverTcp: boolean,
    ms: number,
  ): void {
    for (const observer of this.#observers) observer.replied?.(server, query, reply, isOverTcp, ms);
  }

  failed(server: ServerAddress, query: Buffer, reason: FailureReason): void {
    for (const observer of this.#observers) observer.failed?.(server, query, reason);
  }
}
