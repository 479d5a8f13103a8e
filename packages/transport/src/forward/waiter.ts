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
import type {
  AddedOptions,
  AskCallback,
  QueryForwarderOptions,
  StaleAnswer,
  StaleReason,
} from './contract.js';
import { type Failure, isUsable, UNREADABLE } from './failure.js';
import type { UpstreamQuery, Waiter } from './query.js';
import { Slot } from './quota.js';

/** An answer while it is sent, which copies it, where the client has no memory for it. */
const ownOut = new Uint8Array(MAX_MESSAGE_BYTES);
const NO_MESSAGE = new Uint8Array(0);

/** A client that waits, with the ID, spelling and size of its query. */
export class ClientWaiter implements Waiter {
  client = '';
  query: UpstreamQuery | undefined;
  readonly slot = new Slot(this);
  readonly unproven = new Slot(this);
  deadlineMs = 0;
  stale: StaleAnswer | undefined;
  readonly #target = emptyRelayTarget();
  /** After its end that of the client before, to be used again. */
  #reply: ReplyPath | undefined;
  #source: AnswerSource = SOURCE.UPSTREAM;
  #isOverTcp = false;
  /** Set for a client that asks for the version; the most bytes that its answer may have. */
  #instance: Uint8Array | undefined;
  #knowsCluster = false;
  #maxBytes = 0;

  /** Begins to wait for a question; it is new, or was ended. */
  begin(
    query: Query,
    client: Client,
    { question, deadlineMs, waiters }: UpstreamQuery,
    { passesAd = false, instance }: QueryForwarderOptions,
    { hasClientSubnet }: AddedOptions,
    stale?: StaleAnswer,
  ): void {
    this.client = client.address;
    this.deadlineMs = deadlineMs;
    this.stale = stale;
    relayTargetOf(query, passesAd, hasClientSubnet, question.message, this.#target);
    this.#reply = client.defer(this.#reply);
    this.#source = waiters.length === 0 ? SOURCE.UPSTREAM : SOURCE.JOINED;
    this.#isOverTcp = query.isOverTcp;
    this.#instance = query.asksZoneVersion ? instance : undefined;
    this.#knowsCluster = query.knowsClusterVersion;
    this.#maxBytes = query.maxAnswerBytes;
  }

  isAskingAgain(query: Query, client: Client): boolean {
    if (this.#isOverTcp || query.id !== this.#target.id) return false;
    return client.port === this.#reply?.port && client.address === this.client;
  }

  /** SERVFAIL in place of a reply that cannot be read. */
  answer(reply: Buffer, outline: ReplyOutline, server?: ServerAddress, failure?: Failure): void {
    const isGood = this.stale === undefined || isUsable(reply);
    const out = this.#reply?.out ?? ownOut;
    const length = isGood ? adaptReply(reply, this.#target, outline, out, failure?.option) : -1;
    if (length < 0) this.fail(UNREADABLE);
    else {
      const versioned = this.#addVersion(reply, out, length);
      this.#reply?.send(out, versioned, this.#source, server);
    }
  }

  fail({ option }: Failure, rcode: number = RCODE.SERVFAIL): void {
    if (this.stale !== undefined) {
      this.giveStale('failure');
      return;
    }
    const refusal = encodeRefusal(this.#target, rcode, option);
    // Its slot was given to another client.
    const source = rcode === RCODE.REFUSED ? SOURCE.LOCAL : this.#source;
    this.#reply?.send(refusal, refusal.length, source);
  }

  giveStale(reason: StaleReason): void {
    const { message } = this.stale!;
    this.stale!.onGiven(reason);
    this.#reply?.send(message, message.length, SOURCE.STALE);
  }

  evict(isOwn = false): void {
    this.query?.evictWaiter(this, isOwn);
  }

  abandon(): void {
    this.#reply?.abandon();
  }

  /** It is answered: it lets go of what it had, for the next client. */
  end(): void {
    this.query = this.stale = this.#instance = undefined;
    this.#target.message = NO_MESSAGE;
  }

  #addVersion(reply: Buffer, out: Uint8Array, length: number): number {
    if (this.#instance === undefined) return length;
    return passZoneVersion(reply, out, length, this.#maxBytes, this.#instance, this.#knowsCluster);
  }
}

/** A question of the program itself: its reply goes to a callback. */
export class CallbackWaiter implements Waiter {
  readonly client: string;
  query: UpstreamQuery | undefined;
  readonly slot = new Slot(this);
  readonly unproven = new Slot(this);
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

  answer(reply: Buffer, _outline: ReplyOutline, server?: ServerAddress): void {
    this.#done(Buffer.from(reply), server);
  }

  fail(): void {
    this.#done(null);
  }

  giveStale(): void {
    // It has none.
  }

  evict(isOwn = false): void {
    this.query?.evictWaiter(this, isOwn);
  }

  abandon(): void {
    // Nothing is held for it.
  }
}
