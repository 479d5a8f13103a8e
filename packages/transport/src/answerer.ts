import type { Query } from '@kube-dns/wire';
import type { AnswerSource } from './answer-source.js';
import type { ServerAddress } from './server-address.js';

/** Returned by an answerer that sends nothing now: it took a reply path, or sends no answer at all. */
export const NO_ANSWER_YET = 0;

/**
 * Answers the queries of a listener. `answer` writes the whole answer into `out` (64 KiB) and returns its
 * length, or takes a reply path with `client.defer()`, returns NO_ANSWER_YET and answers later. The query
 * and `out` belong to the listener and are valid only during the call. The listener truncates an answer
 * that is too large for the client.
 */
export interface Answerer {
  answer(query: Query, out: Uint8Array, client: Client): number;
}

/** The client that sent the query, during one call of an answerer. */
export interface Client {
  /** The client's address as text, built when it is read, and its port. A retransmission has the same. */
  readonly address: string;
  readonly port: number;
  /**
   * Says where the answer comes from that is given now; LOCAL unless said otherwise. With NONE observers do not see it: it is
   * to a question of this program's own.
   */
  answersFrom(source: AnswerSource): void;
  /**
   * Retains the reply path to this client, for an answer that is sent later. `spare` is one that has ended and that the
   * caller gives up: it may be used again.
   */
  defer(spare?: ReplyPath): ReplyPath;
}

/** The client that a listener has received a query from. */
export interface AddressedClient extends Client {
  /** Writes the bytes of the address, 4 or 16, at `at`, and returns how many. */
  copyAddress(to: Uint8Array, at: number): number;
}

/** The path back to one client. To send more than once, or to a client that has disconnected, does nothing. */
export interface ReplyPath {
  /** The client's address as text, and its port. */
  readonly address: string;
  readonly port: number;
  /**
   * Some have 64 KiB where an answer can be written that is sent next: it is not copied. Not the same memory each time;
   * what is sent to another overwrites it.
   */
  readonly out?: Uint8Array | undefined;
  /**
   * Sends `length` bytes; the message is truncated in place when it is too large for the client. `source` is where it
   * comes from, LOCAL unless given, and `server` the one that replied, if one did.
   */
  send(message: Uint8Array, length: number, source?: AnswerSource, server?: ServerAddress): void;
  /** Releases the path without an answer. */
  abandon(): void;
}
