import type {
  AddressedClient,
  AnswerSource,
  RetainedQuery,
  ServerAddress,
} from '@kube-dns/transport';
import { Query } from '@kube-dns/wire';
import type { ObservedAnswer } from './observed-answer.js';

/** A query over UDP has a few options at most; only over TCP one may be longer, and its memory is not kept. */
const USUAL_QUERY_BYTES = 1_232;
const MAX_ADDRESS_BYTES = 16;

/** What becomes of a retained query. */
export interface RetainedAnswerOwner {
  answered(
    retained: RetainedAnswer,
    message: Uint8Array,
    length: number,
    source: AnswerSource,
    server: ServerAddress | undefined,
  ): void;
}

/** A query that is answered later, and a copy of it while there are sinks. It is used again for another one. */
export class RetainedAnswer implements RetainedQuery {
  startedMs = 0;
  /** Whether sinks get its answer, and for how many questions it counts in the lists; there is a copy for both. */
  isWatched = false;
  times = 0;
  readonly #owner: RetainedAnswerOwner;
  readonly #query = new Query();
  readonly #address = new Uint8Array(MAX_ADDRESS_BYTES);
  #addressBytes = 0;
  #port = 0;
  #bytes = new Uint8Array(0);

  constructor(owner: RetainedAnswerOwner) {
    this.#owner = owner;
  }

  copy({ bytes, length, isOverTcp, maxUdpBytes }: Query, client: AddressedClient): void {
    if (this.#bytes.length < length) {
      this.#bytes = new Uint8Array(Math.max(USUAL_QUERY_BYTES, length));
    }
    for (let i = 0; i < length; i++) this.#bytes[i] = bytes[i]!;
    this.#query.read(this.#bytes, length, isOverTcp, maxUdpBytes);
    this.#addressBytes = client.copyAddress(this.#address, 0);
    this.#port = client.port;
  }

  /** Puts the query and its client into the record of an answer. */
  fill(answer: ObservedAnswer): void {
    answer.query = this.#query;
    for (let i = 0; i < this.#addressBytes; i++) answer.address[i] = this.#address[i]!;
    answer.addressBytes = this.#addressBytes;
    answer.port = this.#port;
    answer.startedMs = this.startedMs;
  }

  answered(
    message: Uint8Array,
    length: number,
    source: AnswerSource,
    server: ServerAddress | undefined,
  ): void {
    this.#owner.answered(this, message, length, source, server);
    if (this.#bytes.length > USUAL_QUERY_BYTES) this.#bytes = new Uint8Array(0);
  }
}
