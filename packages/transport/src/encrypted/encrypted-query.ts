import type {
  QuerySocket,
  ReplyHandler,
  SentQuery,
  Unreachable,
} from '../upstream/server-sockets.js';
import type { Connection } from './connection.js';

export const NOT_MOVED = Number.POSITIVE_INFINITY;

/** A query to an encrypted server: it waits for a connection, is under way on one, or has ended. */
export class EncryptedQuery implements SentQuery {
  readonly socket: QuerySocket;
  readonly handler: ReplyHandler;
  query: Buffer;
  /** Where it is under way, with which ID, and since when. */
  connection: Connection | undefined;
  id = 0;
  sinceMs = 0;
  /** How often it was sent. */
  tries = 0;
  isWaiting = false;
  /** Its connection was cut, and it was sent once more: the connections from this one on were opened afterwards. */
  movedBefore = NOT_MOVED;
  /** It waited so long that other servers may be asked. */
  isDelayed = false;
  /** The same, sent once more while this one has no reply; the first reply counts. */
  copy: EncryptedQuery | undefined;
  readonly #original: EncryptedQuery | undefined;

  constructor(
    socket: QuerySocket,
    query: Buffer,
    handler: ReplyHandler,
    original?: EncryptedQuery,
  ) {
    this.socket = socket;
    this.query = query;
    this.handler = handler;
    this.#original = original;
  }

  /** Neither waits for a connection, nor is it under way. */
  get isOver(): boolean {
    return this.connection === undefined && !this.isWaiting;
  }

  /** It has a reply, which is one to its original, too. */
  onReply(reply: Buffer): void {
    const sent = this.#original ?? this;
    this.socket.forget(sent);
    this.handler.onReply(sent, reply);
  }

  /** It gets no reply; of a query and its copy the last one counts. */
  onUnreachable(why: Unreachable): void {
    const sent = this.#original ?? this;
    const other = this === sent ? sent.copy : sent;
    if (other?.isOver ?? true) this.handler.onUnreachable(sent, why);
  }
}
