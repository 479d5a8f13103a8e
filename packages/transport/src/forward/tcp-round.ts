import { writeUint16 } from '@kube-dns/wire';
import type { ExchangeErrorCode } from '../errors.js';
import { type Exchange, exchange, type ExchangeDone } from '../exchange.js';
import { exchangeEncrypted } from '../encrypted/encrypted-exchange.js';
import { randomId } from '../random-id.js';
import { isStreamed } from '../server-address.js';
import { rcodeOf } from './reply-flaw.js';
import type { ExchangeObservers } from './exchange-observer.js';
import type { PlaceWaiter } from './tcp-places.js';
import type { UpstreamServer } from './upstream-servers.js';

/** Is notified by a TcpRound. */
export interface TcpRoundOwner {
  /** Undefined for questions that no client has asked. */
  readonly exchanges?: ExchangeObservers;
  now(): number;
  /** A server replied, which is counted. The round continues only with `askNext`. */
  onTcpReply(server: UpstreamServer, reply: Buffer): void;
  /** A server did not reply. */
  onTcpError(server: UpstreamServer, code: ExchangeErrorCode): void;
  /** No server is left to ask. */
  onTcpEnd(): void;
}

/**
 * One question over TCP to servers in turn, a new connection each, for which it may have to wait; the owner calls
 * for the next. An encrypted server is asked over its own connections, never over plain TCP.
 */
export class TcpRound implements PlaceWaiter {
  readonly #owner: TcpRoundOwner;
  readonly #query: Buffer;
  /** The servers that have not replied yet; the first one is being asked. */
  readonly #servers: UpstreamServer[];
  readonly #deadlineMs: number;
  readonly #reserved: number;
  #isAsking = false;
  #hasPlace = false;
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
    if (this.#isAsking) this.#servers.shift();
    const [server] = this.#servers;
    this.#isAsking = server !== undefined;
    if (server === undefined) this.#owner.onTcpEnd();
    else if (server.tcpPlaces.take(this)) this.onPlace();
  }

  /** Asks one more, after the others, unless it is one of them. */
  add(server: UpstreamServer): void {
    if (!this.#servers.includes(server)) this.#servers.push(server);
  }

  onPlace(): void {
    this.#hasPlace = true;
    const server = this.#servers[0]!;
    const startedAtMs = this.#owner.now();
    const leftMs = this.#deadlineMs - startedAtMs;
    if (leftMs <= 0) {
      this.cancel();
      this.#owner.onTcpEnd();
      return;
    }
    const query = server.edns.fit(this.#query, startedAtMs);
    writeUint16(query, 0, randomId());
    const timeoutMs = Math.ceil(leftMs / (this.#servers.length + this.#reserved));
    const { exchanges } = this.#owner;
    exchanges?.sent(server, query, true);
    this.#exchange = askOnce(server, query, timeoutMs, (error, reply) => {
      this.#release(server);
      const { counts } = server;
      server.tcpHealth.isUp = reply !== null;
      counts.countQuery(false);
      if (reply === null) {
        this.#owner.onTcpError(server, error!.code);
        this.askNext();
        return;
      }
      const tookMs = this.#owner.now() - startedAtMs;
      counts.countReply(rcodeOf(reply), tookMs);
      exchanges?.replied(server, query, reply, true, tookMs);
      if (server.edns.isRefused(query, reply, this.#owner.now())) this.#askAgain();
      else this.#owner.onTcpReply(server, reply);
    });
  }

  /** Ends it without a call. */
  cancel(): void {
    const [server] = this.#servers;
    if (server === undefined) return;
    this.#exchange?.cancel();
    server.tcpPlaces.leave(this);
    this.#release(server);
  }

  #askAgain(): void {
    this.#isAsking = false;
    this.askNext();
  }

  #release(server: UpstreamServer): void {
    if (!this.#hasPlace) return;
    this.#hasPlace = false;
    server.tcpPlaces.release();
  }
}

function askOnce(
  server: UpstreamServer,
  query: Buffer,
  timeoutMs: number,
  done: ExchangeDone,
): Exchange {
  if (isStreamed(server)) return exchangeEncrypted(server, query, timeoutMs, done);
  const { address: sourceAddress } = server.source;
  return exchange({ query, server, protocol: 'tcp', sourceAddress, timeoutMs }, done);
}
