import { rcodeOf } from '@kube-dns/wire';
import { type Trace, TraceKind } from '@kube-dns/base';
import type { ExchangeErrorCode } from '../errors.js';
import type { ServerAddress } from '../server-address.js';
import { type FailureReason, isTruncated, type BadReplyReason } from './failure.js';

/** Is notified of every event of one server. */
export interface ServerCounter {
  /** Queries sent to the server so far, retransmissions included. */
  readonly queries: number;
  /** A query was sent; `isRetry`: the same datagram once more, after silence. */
  countQuery(isRetry: boolean): void;
  /** A reply arrived after this many milliseconds. */
  countReply(rcode: number, ms: number): void;
  /** That reply is no answer. */
  countBadReply(badReply: BadReplyReason): void;
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

/** What happened to a question of a query that is explained: `ms` from its sending, `atMs` on the forwarder's clock. */
export type ExchangeEvent = { readonly server: ServerAddress; readonly atMs: number } & (
  | { readonly event: 'sent'; readonly isOverTcp: boolean }
  | {
      readonly event: 'replied';
      readonly rcode: number;
      /** Truncated, over UDP. */
      readonly isCut: boolean;
      readonly ms: number;
    }
  | { readonly event: 'failed'; readonly reason: FailureReason }
);

/** What was sent to servers for a query, and what became of it. */
export const EXCHANGED = new TraceKind<ExchangeEvent>();

type Traces = readonly Trace[] | undefined;

/** All that observe the exchanges of a forwarder, and the traces of the queries that a question is asked for. */
export class ExchangeObservers {
  readonly #observers: ExchangeObserver[] = [];
  readonly #now: () => number;

  /** The clock of the forwarder, in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  add(observer: ExchangeObserver): void {
    this.#observers.push(observer);
  }

  sent(server: ServerAddress, query: Uint8Array, isOverTcp: boolean, traces: Traces): void {
    for (const observer of this.#observers) observer.sent?.(server, query, isOverTcp);
    if (traces === undefined) return;
    note(traces, { event: 'sent', server, isOverTcp, atMs: this.#now() });
  }

  replied(
    server: ServerAddress,
    query: Uint8Array,
    reply: Uint8Array,
    isOverTcp: boolean,
    ms: number,
    traces: Traces,
  ): void {
    for (const observer of this.#observers) observer.replied?.(server, query, reply, isOverTcp, ms);
    if (traces === undefined) return;
    const isCut = !isOverTcp && isTruncated(reply);
    note(traces, { event: 'replied', server, rcode: rcodeOf(reply), isCut, ms, atMs: this.#now() });
  }

  failed(server: ServerAddress, query: Buffer, reason: FailureReason, traces: Traces): void {
    for (const observer of this.#observers) observer.failed?.(server, query, reason);
    if (traces === undefined) return;
    note(traces, { event: 'failed', server, reason, atMs: this.#now() });
  }
}

function note(traces: readonly Trace[], event: ExchangeEvent): void {
  for (const trace of traces) trace.note(EXCHANGED, event);
}
