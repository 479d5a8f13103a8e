import {
  adaptReply,
  emptyRelayTarget,
  encodeRefusal,
  MAX_MESSAGE_BYTES,
  passZoneVersion,
  type Query,
  RCODE,
  relayTargetOf,
  type ReplyOutline,
} from '@kube-dns/wire';
import { type AnswerSource, type Client, type ReplyPath, SOURCE } from '../answerer.js';
import type { ServerAddress } from '../server-address.js';
import { Place } from './fair-places.js';
import { type Failure, UNREADABLE } from './failure.js';
import type { Flight } from './flight.js';
import type { QueryForwarderOptions } from './query-forwarder-options.js';
import { isUsable, type StaleAnswer, type StaleReason } from './stale-clients.js';
import type { AddedOptions } from './upstream-query.js';

/** An answer while it is sent, which copies it, where the client has no place for it. */
const ownOut = new Uint8Array(MAX_MESSAGE_BYTES);
const NO_MESSAGE = new Uint8Array(0);

/** Waits for the answer to a question until its deadline; it is answered or abandoned, once. */
export interface Waiter {
  /** The address of the client; empty for the program itself. */
  readonly client: string;
  readonly deadlineMs: number;
  /** Set by the table of flights: what it waits for, and the place that it has beside the question's. */
  flight: Flight | undefined;
  readonly taken: Place<Waiter>;
  /** What it gets in place of a failure, and of a late reply. */
  readonly stale: StaleAnswer | undefined;
  /** Whether a query over UDP is a retransmission of this waiter's. */
  isAskingAgain(query: Query, client: Client): boolean;
  /** Gives it a copy of a reply; SERVFAIL and REFUSED get a reason if they have none. The outline is the reply's. */
  answer(reply: Buffer, outline: ReplyOutline, failure?: Failure): void;
  /** No server has an answer; SERVFAIL by default. */
  fail(failure: Failure, rcode?: number): void;
  /** It gets its expired answer; it must have one. */
  giveStale(reason: StaleReason): void;
  /** There will be no answer. */
  abandon(): void;
}

/** What of a reply a client gets: AD, and the version of the zone if it names this process. */
export type PassedOn = Pick<QueryForwarderOptions, 'passesAd' | 'instance'>;

/** A client that waits, with the ID, spelling and size of its query. */
export class ClientWaiter implements Waiter {
  client = '';
  flight: Flight | undefined;
  readonly taken: Place<Waiter> = new Place<Waiter>(this);
  deadlineMs = 0;
  stale: StaleAnswer | undefined;
  readonly #target = emptyRelayTarget();
  /** After its end that of the client before, to be used again. */
  #reply: ReplyPath | undefined;
  #source: AnswerSource = SOURCE.UPSTREAM;
  #isOverTcp = false;
  /** Set for a client that asks for the version; the most bytes that its answer may have. */
  #instance: Uint8Array | undefined;
  #maxBytes = 0;

  /** Begins to wait for a flight; it is new, or was ended. */
  begin(
    query: Query,
    client: Client,
    { asked, deadlineMs, waiters }: Flight,
    { passesAd = false, instance }: PassedOn,
    { hasClientSubnet }: AddedOptions,
    stale?: StaleAnswer,
  ): void {
    this.client = client.address;
    this.deadlineMs = deadlineMs;
    this.stale = stale;
    relayTargetOf(query, passesAd, hasClientSubnet, asked.query, this.#target);
    this.#reply = client.defer(this.#reply);
    this.#source = waiters.length === 0 ? SOURCE.UPSTREAM : SOURCE.JOINED;
    this.#isOverTcp = query.isOverTcp;
    this.#instance = query.asksZoneVersion ? instance : undefined;
    this.#maxBytes = query.maxAnswerBytes;
  }

  isAskingAgain(query: Query, client: Client): boolean {
    if (this.#isOverTcp || query.id !== this.#target.id) return false;
    return client.port === this.#reply?.port && client.address === this.client;
  }

  /** SERVFAIL in place of a reply that cannot be read. */
  answer(reply: Buffer, outline: ReplyOutline, failure?: Failure): void {
    const isGood = this.stale === undefined || isUsable(reply);
    const out = this.#reply?.out ?? ownOut;
    const length = isGood ? adaptReply(reply, this.#target, outline, out, failure?.option) : -1;
    if (length < 0) this.fail(UNREADABLE);
    else {
      const versioned = this.#addVersion(reply, out, length);
      this.#reply?.send(out, versioned, this.#source, this.flight?.best.server);
    }
  }

  fail({ option }: Failure, rcode: number = RCODE.SERVFAIL): void {
    if (this.stale !== undefined) {
      this.giveStale('failure');
      return;
    }
    const refusal = encodeRefusal(this.#target, rcode, option);
    // Its place was given to another client.
    const source = rcode === RCODE.REFUSED ? SOURCE.LOCAL : this.#source;
    this.#reply?.send(refusal, refusal.length, source);
  }

  giveStale(reason: StaleReason): void {
    const { message } = this.stale!;
    this.stale!.onGiven(reason);
    this.#reply?.send(message, message.length, SOURCE.STALE);
  }

  abandon(): void {
    this.#reply?.abandon();
  }

  /** It is answered: it lets go of what it had, for the next client. */
  end(): void {
    this.flight = this.stale = this.#instance = undefined;
    this.#target.message = NO_MESSAGE;
  }

  #addVersion(reply: Buffer, out: Uint8Array, length: number): number {
    if (this.#instance === undefined) return length;
    return passZoneVersion(reply, out, length, this.#maxBytes, this.#instance);
  }
}

/** Called once with the reply to a question, whatever its rcode, and the server that it is from, or null when no server has one. */
export type AskCallback = (reply: Buffer | null, server?: ServerAddress) => void;

/** A question of the program itself: its reply goes to a callback. */
export class CallbackWaiter implements Waiter {
  readonly client: string;
  flight: Flight | undefined;
  readonly taken: Place<Waiter> = new Place<Waiter>(this);
  readonly deadlineMs: number;
  readonly stale = undefined;
  readonly #done: AskCallback;

  constructor(client: string, deadlineMs: number, done: AskCallback) {
    this.client = client;
    this.deadlineMs = deadlineMs;
    this.#done = done;
  }

  isAskingAgain(): boolean {
    return false;
  }

  answer(reply: Buffer): void {
    this.#done(Buffer.from(reply), this.flight?.best.server);
  }

  fail(): void {
    this.#done(null);
  }

  giveStale(): void {
    // It has none.
  }

  abandon(): void {
    // Nothing is held for it.
  }
}
