import type { ExchangeErrorCode } from '../errors.js';
import type { ServerAddress } from '../server-address.js';
import type { Failure } from './failure.js';

/** A server to ask, and the source of the queries where the system does not choose it. */
export interface UpstreamTarget {
  readonly server: ServerAddress;
  readonly sourceAddress?: string;
  readonly sourcePort?: number;
}

/** Why a server cannot be asked, where more is known than that its port is closed. */
export interface Unreachable {
  readonly code: ExchangeErrorCode;
  readonly failure: Failure;
  /** For the log: what is wrong, and what to do. */
  readonly text: string;
}

/** Receives the outcome of the queries that it sent. */
export interface ReplyHandler {
  /** A reply from the server that was asked, with the query's ID and question; valid during the call, and may be changed. */
  onReply(sent: SentQuery, reply: Buffer): void;
  /** The server's machine reports that the port is closed, which others can forge; or, with a reason, there is no connection to it. */
  onUnreachable(sent: SentQuery, why?: Unreachable): void;
  /** A reply came to the port of the query with an ID that no query there has, or had: IDs are being guessed. */
  onWrongId?(sent: SentQuery): void;
  /** The query still waits for a connection: other servers may be asked meanwhile. */
  onDelay?(sent: SentQuery): void;
}

/** One query that went to one server and can still be answered. */
export interface SentQuery {
  readonly socket: QuerySocket;
}

/** What a query was sent from. */
export interface QuerySocket {
  /** Sends a query once more, as the same; the message may be another with the same question. */
  resend(sent: SentQuery, query?: Buffer): void;
  /** Waits for no reply to this query any more. */
  forget(sent: SentQuery): void;
}

/** The sockets for one server, or the connections to it. */
export interface ServerSockets {
  /**
   * Sends a query with a new ID, which may be written into it; the caller does not change the message until
   * it forgets the query. Undefined when it cannot be sent.
   */
  send(query: Buffer, handler: ReplyHandler): SentQuery | undefined;
  /**
   * The same for a question that has no reply yet: from another port than each of these, one that had a reply since the
   * last of them was sent if there is one. Undefined where there is no other port.
   */
  sendElsewhere?(
    query: Buffer,
    handler: ReplyHandler,
    silent: readonly SentQuery[],
  ): SentQuery | undefined;
  /** Whether another port had a reply after this was sent, and its own had none. */
  hasReplyElsewhere?(silent: SentQuery): boolean;
  /** A question that had no reply at its first port had one at another. */
  noteSilentPort?(silent: SentQuery): void;
  /** Sends no more queries; those in flight over UDP can still get replies. */
  close(): void;
}
