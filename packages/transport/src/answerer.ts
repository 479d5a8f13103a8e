import type { Query } from '@kube-dns/wire';

/** Returned by an answerer that sends nothing now: it took a reply handle, or wants silence. */
export const NO_ANSWER_YET = 0;

/**
 * What stands behind a listener. `answer` writes the whole answer into `out` (64 KiB) and returns its
 * length, or takes a handle with `client.defer()`, returns NO_ANSWER_YET and answers later. The query
 * and `out` belong to the listener and are valid only during the call. The listener cuts what is too
 * large for the client.
 */
export interface Answerer {
  answer(query: Query, out: Uint8Array, client: Client): number;
}

/** Who asked, during one call of an answerer. */
export interface Client {
  /** The client's address as text, made when it is asked for, and its port: who asks again has the same. */
  readonly address: string;
  readonly port: number;
  /** Keeps the way back to this client, for an answer that comes later. */
  defer(): ReplyPath;
}

/** The way back to one client. Sending more than once, or to a client that is gone, does nothing. */
export interface ReplyPath {
  /** The client's address as text, and its port. */
  readonly address: string;
  readonly port: number;
  /** Sends `length` bytes; the message is cut in place when it is too large for the client. */
  send(message: Uint8Array, length: number): void;
  /** Gives the handle back without an answer. */
  abandon(): void;
}
