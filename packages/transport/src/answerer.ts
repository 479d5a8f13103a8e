import type { Query } from '@kube-dns/wire';
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
   * Retains the reply path to this client, for an answer that is sent later. `reusable` is one that has ended and that
   * the caller gives up: it may be used again.
   */
  defer(reusable?: ReplyPath): ReplyPath;
  /**
   * Over TCP: the path for an answer of several messages, in place of `defer`. Clients that pass a reply path through, such
   * as those of a statistics, have none.
   */
  stream?(): ReplyStream;
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

/**
 * The path back to a client over TCP for an answer of several messages (RFC 5936 section 2.2). Other answers of the connection
 * may be sent between them. After `end`, `abort` or the end of the connection it does nothing.
 */
export interface ReplyStream {
  /** The client's address as text, and its port. */
  readonly address: string;
  readonly port: number;
  /**
   * Sends a message of so many bytes, which are copied, as it is: neither cut nor with a cookie. False when the client has
   * enough to read: the next one is sent after `onDrain`.
   */
  write(message: Uint8Array, length: number): boolean;
  /** Called each time when the client has read what was sent, after a `write` that returned false. */
  onDrain: (() => void) | undefined;
  /** Called once when the connection ends before the answer. */
  onClose: (() => void) | undefined;
  /** The answer is complete: the connection is read on. */
  end(): void;
  /** Closes the connection: the answer cannot be completed, which nothing else says to the client. */
  abort(): void;
}

/**
 * Where an answer came from. `NONE`: there was no answer. `ZONE`: the records of a zone that this program serves.
 * `LOCAL`: made here, from configured data or as a refusal. `CACHE`, and `STALE` when it has expired. `UPSTREAM`: a
 * server was asked for it, also in vain. `JOINED`: it was asked for another client, too.
 */
export const SOURCE = {
  NONE: 0,
  ZONE: 1,
  LOCAL: 2,
  CACHE: 3,
  STALE: 4,
  UPSTREAM: 5,
  JOINED: 6,
} as const;
export type AnswerSource = (typeof SOURCE)[keyof typeof SOURCE];

/** The sources' names, as logs and metrics have them. */
export const SOURCE_NAMES = [
  'none',
  'zone',
  'local',
  'cache',
  'stale',
  'upstream',
  'joined',
] as const;

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

/**
 * A client's connection, on which the server sends when it has something to say: a session of DNS Stateful
 * Operations (RFC 8490).
 */
export interface Session {
  /** The client's address as text, and its port. */
  readonly address: string;
  readonly port: number;
  /** Bytes that were sent to the client and that it has not read yet. */
  readonly unsentBytes: number;
  /** Sends a message; does nothing when the connection is closed. */
  push(message: Uint8Array): void;
  /**
   * Sends messages with their lengths in front of them, as `frameMessage` makes them. The bytes are not copied: the same
   * can be sent to many, and they must not change.
   */
  pushFrames(frames: Uint8Array): void;
  /**
   * The connection stays open without traffic, until its owner closes it. It counts as none of the listener's connections
   * any more: its owner limits how many stay.
   */
  stay(): void;
  /** Closes the connection at once. */
  close(): void;
  onClose(listener: () => void): void;
}

/** Serves the sessions of a listener. */
export interface SessionService {
  /** How many sessions may stay at a time; none unless given. */
  readonly limit?: number;
  /**
   * Takes a message with the opcode DSO, which is valid during the call. All messages of one connection come with
   * the same session.
   */
  receive(message: Uint8Array, session: Session): void;
}
