import type { QuerySocket, ReplyHandler, SentQuery } from '../upstream/server-sockets.js';
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
  isWaiting = false;
  /** Its connection was cut, and it was sent once more: the connections from this one on were opened afterwards. */
  movedBefore = NOT_MOVED;
  /** It waited so long that other servers may be asked. */
  isDelayed = false;

  constructor(socket: QuerySocket, query: Buffer, handler: ReplyHandler) {
    this.socket = socket;
    this.query = query;
    this.handler = handler;
  }
}
