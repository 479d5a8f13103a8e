import type { Client, Reply } from '@kube-dns/transport';
import {
  adaptReply,
  encodeRefusal,
  type Query,
  RCODE,
  type RelayTarget,
  relayTargetOf,
} from '@kube-dns/wire';

/** A client that waits for the answer to a question, with its own ID, spelling and size. */
export class Waiter {
  readonly deadlineMs: number;
  readonly #target: RelayTarget;
  readonly #reply: Reply;
  readonly #isOverTcp: boolean;

  /** `passesAd`: AD is as the server set it (`--proxy-dnssec`). */
  constructor(query: Query, client: Client, deadlineMs: number, passesAd: boolean) {
    this.deadlineMs = deadlineMs;
    this.#target = relayTargetOf(query, passesAd);
    this.#reply = client.defer();
    this.#isOverTcp = query.isOverTcp;
  }

  /** Tells whether a query over UDP is this client's own, sent again. */
  isAskingAgain(query: Query, client: Client): boolean {
    if (this.#isOverTcp || query.id !== this.#target.id) return false;
    return client.port === this.#reply.port && client.address === this.#reply.address;
  }

  /** Passes a reply on, which is changed; SERVFAIL in place of one that cannot be read. */
  answer(message: Buffer): void {
    const length = adaptReply(message, this.#target);
    if (length > 0) this.#reply.send(message, length);
    else this.fail();
  }

  fail(): void {
    const refusal = encodeRefusal(this.#target, RCODE.SERVFAIL);
    this.#reply.send(refusal, refusal.length);
  }

  abandon(): void {
    this.#reply.abandon();
  }
}
