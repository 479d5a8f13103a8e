import type { RecordCursor } from '@kube-dns/wire';
import type { ServerAddress } from '../server-address.js';
import { betterOf } from './cut-reply.js';

/** What a question ends with, and the server that it is from; until then the best for a client that cannot wait any longer. */
export class BestReply {
  message: Buffer | null = null;
  server: ServerAddress | undefined;

  /** Returns the message. */
  set(message: Buffer | null, server?: ServerAddress): Buffer | null {
    this.message = message;
    this.server = server;
    return message;
  }

  /** Sets a copy: the message is valid during the call. */
  keep(message: Buffer, server: ServerAddress): void {
    this.set(Buffer.from(message), server);
  }

  /** A server refused. The reply is valid during the call; the cursor is the caller's. */
  offer(refusal: Buffer, server: ServerAddress, cursor: RecordCursor): void {
    const better = betterOf(this.message, refusal, cursor);
    if (better !== this.message) this.keep(better, server);
  }
}
