import type { Query } from '@kube-dns/wire';
import type { AddressedClient } from './answerer.js';
import type { AnswerSource } from './answer-source.js';
import type { ServerAddress } from './server-address.js';

/**
 * Sees the queries of listeners that get an answer, and these answers as they are sent. It is called on the query
 * path, and what it is given is valid only during the call.
 */
export interface AnswerObserver {
  /** A query whose question can be read has arrived; `answered`, `retain` or neither follows before the next. */
  begin(query: Query, client: AddressedClient): void;
  /** The query is answered now: the first `length` bytes of the message. */
  answered(message: Uint8Array, length: number, source: AnswerSource): void;
  /** The query is answered later. */
  retain(): RetainedQuery;
}

/** A query that is answered later. */
export interface RetainedQuery {
  /** Called once, with the server that replied, if one did; `length` is 0 when there is no answer at all. */
  answered(
    message: Uint8Array,
    length: number,
    source: AnswerSource,
    server: ServerAddress | undefined,
  ): void;
}
