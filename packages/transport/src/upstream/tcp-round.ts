import { writeUint16 } from '@kube-dns/wire';
import { type Exchange, exchange } from '../exchange.js';
import { randomId } from '../random-id.js';
import { rcodeOf } from './reply-flaw.js';
import type { UpstreamServer } from './upstream-servers.js';

/** Is notified by a TcpRound. */
export interface TcpRoundOwner {
  now(): number;
  /** A server replied, which is counted. The round continues only with `askNext`. */
  onTcpReply(server: UpstreamServer, reply: Buffer): void;
  /** No server is left to ask. */
  onTcpEnd(): void;
}

/** One question over TCP to servers in turn, a new connection each; the owner calls for the next. */
export class TcpRound {
  readonly #owner: TcpRoundOwner;
  readonly #query: Buffer;
  /** The servers that were not asked yet. */
  readonly #servers: UpstreamServer[];
  readonly #deadlineMs: number;
  readonly #reserved: number;
  #exchange: Exchange | undefined;

  /**
   * The question gets random IDs. Each server has an equal part of the time until the deadline; `reserved`
   * more parts are left for servers that are asked afterwards.
   */
  constructor(
    owner: TcpRoundOwner,
    query: Buffer,
    servers: readonly UpstreamServer[],
    deadlineMs: number,
    reserved: number,
  ) {
    this.#owner = owner;
    this.#query = query;
    this.#servers = [...servers];
    this.#deadlineMs = deadlineMs;
    this.#reserved = reserved;
  }

  /** Asks the next server. */
  askNext(): void {
    const parts = this.#servers.length + this.#reserved;
    const server = this.#servers.shift();
    const startedAtMs = this.#owner.now();
    const leftMs = this.#deadlineMs - startedAtMs;
    if (server === undefined || leftMs <= 0) {
      this.#owner.onTcpEnd();
      return;
    }
    writeUint16(this.#query, 0, randomId());
    const timeoutMs = Math.ceil(leftMs / parts);
    const request = { query: this.#query, server, protocol: 'tcp', timeoutMs } as const;
    this.#exchange = exchange(request, (error, reply) => {
      const { counts } = server;
      counts.countQuery(false);
      if (reply === null) {
        counts.countError(error!.code);
        this.askNext();
        return;
      }
      counts.countReply(rcodeOf(reply), this.#owner.now() - startedAtMs);
      this.#owner.onTcpReply(server, reply);
    });
  }

  /** Ends it without a call. */
  cancel(): void {
    this.#exchange?.cancel();
  }
}
