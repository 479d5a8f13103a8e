import type { ServerAddress } from '../server-address.js';
import type { FailureReason } from './reply-flaw.js';

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
    const at = this.#observers.indexOf(observer);
    if (at >= 0) this.#observers.splice(at, 1);
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
