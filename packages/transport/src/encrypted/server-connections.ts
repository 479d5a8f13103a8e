import type {
  QuerySocket,
  ReplyHandler,
  SentQuery,
  ServerSockets,
  Unreachable,
} from '../upstream/server-sockets.js';
import type { UpstreamTarget } from '../upstream/upstream-sockets.js';
import { BackOff, PLAIN_MAX_MS } from './back-off.js';
import { Connection, type ConnectionOwner } from './connection.js';
import { EncryptedQuery, NOT_MOVED } from './encrypted-query.js';
import type { EncryptedServers } from './encrypted-servers.js';
import { tlsFailure } from './tls-failure.js';
import type { TlsTrust } from './tls-trust.js';

/** With so many queries under way on each connection a second one is opened; a third when both are full. */
const BUSY = 50;
const MOST_BUSY = 2;
const MOST_CONNECTIONS = 3;
/** Queries that wait for a connection. */
const MAX_WAITING = 1_000;
/**
 * A query is sent so often at most, whatever becomes of the connections: where each is closed after one answer, that is
 * one of all that wait.
 */
const MAX_TRIES = 64;
/** After so long they may be asked of other servers. */
const DELAY_MS = 50;

/** What is shown of an encrypted server. */
export interface EncryptedStatus {
  /** Open now. */
  readonly connections: number;
  /** So far. */
  readonly handshakes: number;
  /** In seconds since 1970; 0: none seen. */
  readonly certificateEndsAt: number;
}

export interface ServerConnectionsOptions {
  readonly target: UpstreamTarget;
  readonly trust: TlsTrust;
  /** Called when no connection can be opened, for each new reason. */
  readonly onFailure: (why: Unreachable) => void;
}

/**
 * The connections to one encrypted server. It is never asked in another way: without a connection queries wait, and
 * then fail.
 */
export class ServerConnections
  implements ServerSockets, QuerySocket, ConnectionOwner, EncryptedStatus
{
  readonly share: EncryptedServers;
  readonly target: UpstreamTarget;
  readonly trust: TlsTrust;
  handshakes = 0;
  certificateEndsAt = 0;
  readonly #onFailure: (why: Unreachable) => void;
  #connections: Connection[] = [];
  readonly #waiting = new Set<EncryptedQuery>();
  readonly #backOff: BackOff;
  #ticket: Buffer | undefined;
  #failure = '';
  #serial = 0;
  #isClosed = false;

  /** For EncryptedServers. */
  constructor(share: EncryptedServers, options: ServerConnectionsOptions) {
    this.share = share;
    this.target = options.target;
    this.trust = options.trust;
    this.#onFailure = options.onFailure;
    const isPlain = options.target.server.encryption === undefined;
    this.#backOff = new BackOff(isPlain ? PLAIN_MAX_MS : undefined);
  }

  get connections(): number {
    let open = 0;
    for (const { isOpen } of this.#connections) if (isOpen) open++;
    return open;
  }

  /** Open, or being opened. */
  get size(): number {
    return this.#connections.length;
  }

  /** Whether there is nothing to look after, and whether there will never be again. */
  get isUnused(): boolean {
    return this.#connections.length === 0 && this.#waiting.size === 0;
  }
  get isOver(): boolean {
    return this.#isClosed && this.isUnused;
  }

  /** A short handshake has no certificate: there is none after the end of the one that was seen. */
  get ticket(): Buffer | undefined {
    return this.share.wallNow() / 1_000 < this.certificateEndsAt ? this.#ticket : undefined;
  }

  send(query: Buffer, handler: ReplyHandler): SentQuery | undefined {
    const sent = new EncryptedQuery(this, query, handler);
    return !this.#isClosed && this.#place(sent) ? sent : undefined;
  }

  /** What was sent has arrived, but the server may have lost it: it gets another query, on another connection if there is one. */
  resend(sent: EncryptedQuery, query = sent.query): void {
    sent.query = query;
    if (sent.isWaiting) return;
    if (sent.connection === undefined) {
      sent.movedBefore = NOT_MOVED;
      sent.tries = 0;
      this.#place(sent);
      return;
    }
    if (sent.copy !== undefined) this.forget(sent.copy);
    sent.copy = undefined;
    const connection = this.#roomy(sent.connection) ?? this.#roomy();
    if (connection === undefined) return;
    sent.copy = new EncryptedQuery(this, query, sent.handler, sent);
    connection.send(sent.copy);
  }

  forget(sent: EncryptedQuery): void {
    sent.connection?.forget(sent);
    if (sent.isWaiting) this.#unqueue(sent);
    if (sent.copy !== undefined) this.forget(sent.copy);
  }

  /** Takes no more queries; the connections are closed after the last reply. */
  close(): void {
    this.#isClosed = true;
    for (const connection of this.#connections) connection.retire();
  }

  /** Ends all connections; queries get no reply. */
  destroy(): void {
    this.#isClosed = true;
    for (const connection of this.#connections.splice(0)) connection.destroy();
    this.#waiting.clear();
  }

  /** Closes a connection that is not used; false when there is none. */
  closeIdle(): boolean {
    const idle = this.#connections.find(({ isIdle }) => isIdle);
    idle?.close();
    return idle !== undefined;
  }

  /** Does what is due. */
  tick(nowMs: number): void {
    const nowSeconds = this.share.wallNow() / 1_000;
    for (const connection of [...this.#connections]) {
      // The next handshake refuses the certificate, or has another.
      if (nowSeconds >= connection.certificateEndsAt) connection.retire();
      connection.tick(nowMs);
    }
    this.#openMore();
    for (const sent of this.#waiting) {
      if (sent.isDelayed || nowMs - sent.sinceMs < DELAY_MS) continue;
      sent.isDelayed = true;
      sent.handler.onDelay?.(sent);
    }
  }

  onTicket(ticket: Buffer): void {
    this.#ticket = ticket;
  }

  onOpen(connection: Connection, certificateEndsAt: number | undefined): void {
    this.handshakes++;
    if (certificateEndsAt !== undefined) this.certificateEndsAt = certificateEndsAt;
    if (this.certificateEndsAt > 0) connection.certificateEndsAt = this.certificateEndsAt;
    this.#failure = '';
    if (this.#isClosed) connection.retire();
    this.onRoom();
  }

  onReply(): void {
    this.#backOff.reset();
  }

  onRoom(): void {
    if (this.#waiting.size === 0) return;
    for (const sent of this.#waiting) {
      const connection = this.#roomy();
      if (connection === undefined) break;
      this.#unqueue(sent);
      connection.send(sent);
    }
    this.#openMore();
  }

  onRefused(connection: Connection, sent: EncryptedQuery): void {
    connection.retire();
    this.#move(sent, connection, 'REFUSED_STREAM');
  }

  onRejected(sent: EncryptedQuery, code: string): void {
    sent.onUnreachable(tlsFailure(this.target.server, code, true));
  }

  onEnd(connection: Connection, code: string | undefined): void {
    this.#connections = this.#connections.filter((each) => each !== connection);
    if (code === undefined) return;
    if (!connection.hasReplied) this.#backOff.fail(this.share.nowMs);
    if (!connection.wasOpen) this.#fail(code);
    const waiting = [...this.#waiting];
    const cut = [...connection.underWay].sort((one, other) => other.tries - one.tries);
    for (const sent of cut) this.#move(sent, connection, code);
    // They come first, those before the others that were cut more often.
    for (const sent of waiting) if (this.#waiting.delete(sent)) this.#waiting.add(sent);
    this.#openMore();
  }

  /** Sends a query or lets it wait; false when too many wait. */
  #place(sent: EncryptedQuery): boolean {
    this.share.wake();
    const connection = this.#roomy();
    if (connection !== undefined) {
      connection.send(sent);
      if (connection.load === BUSY && this.#connections.length < MOST_BUSY) this.#openOne();
      return true;
    }
    if (this.#waiting.size >= MAX_WAITING) return false;
    sent.sinceMs = this.share.nowMs;
    sent.isWaiting = true;
    this.#waiting.add(sent);
    this.#openMore();
    return true;
  }

  #roomy(but?: Connection): Connection | undefined {
    for (const connection of this.#connections) {
      if (connection.hasRoom && connection !== but) return connection;
    }
    return undefined;
  }

  /** Opens a connection when queries wait. */
  #openMore(): void {
    if (this.#waiting.size > 0) this.#openOne();
  }

  /** Opens one more connection, unless there are enough, one is being opened, or it is too early after a failure. */
  #openOne(): void {
    let count = 0;
    for (const { isOpen, isRetired } of this.#connections) {
      if (!isOpen) return;
      if (!isRetired) count++;
    }
    if (count >= MOST_CONNECTIONS || !this.#backOff.isOver(this.share.nowMs)) return;
    if (!this.share.mayOpen()) return;
    const connection = new Connection(this, this.#serial++);
    this.#connections.push(connection);
    connection.open();
  }

  #unqueue(sent: EncryptedQuery): void {
    sent.isWaiting = false;
    this.#waiting.delete(sent);
  }

  /**
   * A query that lost its connection is sent once more. What cut one connection may have cut the others: only on one
   * that was opened since then the query is lost. It does not count where the server answered others there: some
   * close a connection after so many.
   */
  #move(sent: EncryptedQuery, { serial, replies }: Connection, code: string): void {
    sent.connection = undefined;
    const hasProgress = replies > 0;
    const isLost = sent.tries >= MAX_TRIES || (!hasProgress && serial >= sent.movedBefore);
    if (!hasProgress && sent.movedBefore === NOT_MOVED) sent.movedBefore = this.#serial;
    if (!isLost && this.#place(sent)) return;
    sent.onUnreachable(tlsFailure(this.target.server, code, true));
  }

  /** No connection could be opened: without another one the queries fail that wait. */
  #fail(code: string): void {
    const why = tlsFailure(this.target.server, code, false);
    if (this.#failure !== why.text) this.#onFailure(why);
    this.#failure = why.text;
    // A ticket must not be the reason.
    this.#ticket = undefined;
    if (this.#connections.length > 0) return;
    for (const sent of [...this.#waiting]) {
      this.#unqueue(sent);
      sent.onUnreachable(why);
    }
  }
}
