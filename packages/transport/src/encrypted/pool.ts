import { BackOff, threadCpuMs } from '@kube-dns/base';
import { descriptorShare } from '../descriptor-limit.js';
import type {
  QuerySocket,
  ReplyHandler,
  SentQuery,
  ServerSockets,
  Unreachable,
  UpstreamTarget,
} from '../forward/server-sockets.js';
import { EndOfTurn } from './carriers.js';
import {
  Connection,
  type ConnectionHandler,
  type ConnectionShare,
  EncryptedQuery,
  HandshakeSlots,
  NOT_MOVED,
} from './connection.js';
import { tlsFailure, type TlsTrust } from './tls.js';

/** So a query that waits for a connection is noticed within 50 ms. */
const TICK_MS = 25;
/** Connections to all servers together. */
const MAX_CONNECTIONS = 128;
const SHARE_OF_DESCRIPTORS = 1 / 16;
/** Connections to one server. */
const MAX_CONNECTIONS_OF_SERVER = 3;
/** With so many outstanding queries on each connection a second one is opened; a third when both are full. */
const BUSY = 50;
const MAX_BUSY = 2;
/** Queries that wait for a connection. */
const MAX_WAITING = 1_000;
/**
 * A query is sent so often at most, whatever becomes of the connections: where each is closed after one answer, that is
 * one of all that wait.
 */
const MAX_TRIES = 64;
/** After so long they may be asked of other servers. */
const DELAY_MS = 50;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 10_000;
/** After these the server is not asked at all: each try would stop the answers of others. */
const HOSTILE: ReadonlySet<string> = new Set(['FLOOD', 'SLOW_HANDSHAKE']);
const HOSTILE_PAUSE_MS = 30_000;
/** A connection in plain text costs the server next to nothing, and clients wait for it. */
const PLAIN_MAX_PAUSE_MS = 200;

/** What the connections to all encrypted servers share: the turns of handshakes, the clock, and the end of each turn. */
export class EncryptedServers implements ConnectionShare {
  readonly handshakes: HandshakeSlots;
  readonly turn: EndOfTurn;
  nowMs: number;
  /** Milliseconds since the epoch. */
  readonly wallNow: () => number;
  readonly #now: () => number;
  readonly cpuMs: () => number;
  cpuAtTickMs = 0;
  readonly #max = descriptorShare(MAX_CONNECTIONS, SHARE_OF_DESCRIPTORS);
  readonly #servers = new Set<ServerConnections>();
  #timer: NodeJS.Timeout | undefined;

  /**
   * `now`: milliseconds that never fall; `wallNow`: since the epoch. `together` runs `work`, which answers clients; the
   * answers leave together where possible. `cpuMs`: what the event loop has used.
   */
  constructor(
    now: () => number,
    wallNow: () => number,
    together: (work: () => void) => void,
    cpuMs = threadCpuMs,
  ) {
    this.#now = now;
    this.cpuMs = cpuMs;
    this.wallNow = wallNow;
    this.turn = new EndOfTurn(together);
    this.nowMs = now();
    this.handshakes = new HandshakeSlots(now);
  }

  /**
   * The connections to one server; several objects for one server are independent. `onFailure` is called when no
   * connection can be opened, for each new reason.
   */
  connectionsTo(
    target: UpstreamTarget,
    trust: TlsTrust,
    onFailure: (why: Unreachable) => void,
  ): ServerConnections {
    const server = new ServerConnections(this, target, trust, onFailure);
    this.#servers.add(server);
    return server;
  }

  /** Ends every connection. May be called twice. */
  close(): void {
    this.#rest();
    for (const server of this.#servers) server.destroy();
    this.#servers.clear();
  }

  /** Does what is due; called by a timer. */
  tick(): void {
    this.nowMs = this.#now();
    this.cpuAtTickMs = this.cpuMs();
    this.handshakes.tick();
    let isUnused = true;
    for (const server of this.#servers) {
      server.tick(this.nowMs);
      if (!server.isUnused) isUnused = false;
      if (server.isOver) this.#servers.delete(server);
    }
    if (isUnused) this.#rest();
  }

  /** For ServerConnections: the clock runs from now on. */
  wake(): void {
    if (this.#timer !== undefined) return;
    this.nowMs = this.#now();
    this.cpuAtTickMs = this.cpuMs();
    this.#timer = setInterval(() => this.tick(), TICK_MS).unref();
  }

  /** For ServerConnections: whether one more connection may be opened; an idle one of another server gives way. */
  mayOpen(): boolean {
    let count = 0;
    for (const { size } of this.#servers) count += size;
    if (count < this.#max) return true;
    for (const server of this.#servers) if (server.closeIdle()) return true;
    return false;
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** What is shown of an encrypted server. */
export interface EncryptedStatus {
  /** Open now. */
  readonly connections: number;
  /** So far. */
  readonly handshakes: number;
  /** In seconds since 1970; 0: none seen. */
  readonly certificateEndsAt: number;
}

/** The same, and how old its connections get. */
export interface KeptConnections extends EncryptedStatus {
  /**
   * A connection takes no more queries at an age between three quarters of this and all of it, in milliseconds, drawn at
   * random, and is closed after the last reply: the next may lead to another process behind the address. 0, the default, is no
   * limit. Who asks the server sets it.
   */
  maxAgeMs: number;
}

/**
 * The connections to one encrypted server. It is never asked in another way: without a connection queries wait, and
 * then fail.
 */
export class ServerConnections
  implements ServerSockets, QuerySocket, ConnectionHandler, KeptConnections
{
  readonly share: EncryptedServers;
  readonly target: UpstreamTarget;
  readonly trust: TlsTrust;
  handshakes = 0;
  certificateEndsAt = 0;
  maxAgeMs = 0;
  readonly #onFailure: (why: Unreachable) => void;
  #connections: Connection[] = [];
  readonly #waiting = new Set<EncryptedQuery>();
  readonly #backOff: BackOff;
  /** When another connection may be opened. */
  #retryAtMs = Number.NEGATIVE_INFINITY;
  /** Until then no connection is opened, for the reason with this code; queries for which there is none fail at once. */
  #suspendedUntilMs = Number.NEGATIVE_INFINITY;
  #suspension = '';
  #ticket: Buffer | undefined;
  #failure = '';
  #serial = 0;
  #isClosed = false;

  constructor(
    share: EncryptedServers,
    target: UpstreamTarget,
    trust: TlsTrust,
    onFailure: (why: Unreachable) => void,
  ) {
    this.share = share;
    this.target = target;
    this.trust = trust;
    this.#onFailure = onFailure;
    const isPlain = target.server.encryption === undefined;
    const longestMs = isPlain ? PLAIN_MAX_PAUSE_MS : MAX_PAUSE_MS;
    this.#backOff = new BackOff({ firstMs: FIRST_PAUSE_MS, longestMs });
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
    if (this.#isClosed) return undefined;
    if (this.#sendOrQueue(sent)) return sent;
    if (!this.#isSuspended) return undefined;
    sent.connection = 'awaited';
    setImmediate(() => {
      if (sent.connection !== 'awaited') return;
      sent.connection = undefined;
      sent.onUnreachable(tlsFailure(this.target.server, this.#suspension, true));
    });
    return sent;
  }

  /** What was sent has arrived, but the server may have lost it: it gets another query, on another connection if there is one. */
  resend(sent: EncryptedQuery, query = sent.query): void {
    sent.query = query;
    if (sent.connection === 'awaited') return;
    if (sent.connection === undefined) {
      sent.movedBefore = NOT_MOVED;
      sent.tries = 0;
      this.#sendOrQueue(sent);
      return;
    }
    if (sent.copy !== undefined) this.forget(sent.copy);
    sent.copy = undefined;
    const connection = this.#withRoom(sent.connection) ?? this.#withRoom();
    if (connection === undefined) return;
    sent.copy = new EncryptedQuery(this, query, sent.handler, sent);
    connection.send(sent.copy);
  }

  forget(sent: EncryptedQuery): void {
    if (sent.connection === 'awaited') this.#unqueue(sent);
    else sent.connection?.forget(sent);
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
      if (this.maxAgeMs > 0 && connection.isOlderThan(this.maxAgeMs)) connection.retire();
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
    this.#retryAtMs = Number.NEGATIVE_INFINITY;
  }

  onRoom(): void {
    if (this.#waiting.size === 0) return;
    for (const sent of this.#waiting) {
      const connection = this.#withRoom();
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
    if (!connection.hasReplied) this.#retryAtMs = this.share.nowMs + this.#backOff.next();
    if (HOSTILE.has(code) && this.target.server.encryption !== undefined) {
      this.#suspendedUntilMs = this.share.nowMs + HOSTILE_PAUSE_MS;
      this.#suspension = code;
    }
    if (!connection.wasOpen || this.#isSuspended) this.#fail(code);
    const waiting = [...this.#waiting];
    const cut = [...connection.outstanding].sort((one, other) => other.tries - one.tries);
    for (const sent of cut) this.#move(sent, connection, code);
    // They come first, those before the others that were cut more often.
    for (const sent of waiting) if (this.#waiting.delete(sent)) this.#waiting.add(sent);
    this.#openMore();
  }

  /** Sends a query or lets it wait; false when too many wait. */
  #sendOrQueue(sent: EncryptedQuery): boolean {
    this.share.wake();
    const connection = this.#withRoom();
    if (connection !== undefined) {
      connection.send(sent);
      if (connection.load === BUSY && this.#connections.length < MAX_BUSY) this.#openOne();
      return true;
    }
    if (this.#waiting.size >= MAX_WAITING || this.#isSuspended) return false;
    sent.sinceMs = this.share.nowMs;
    sent.connection = 'awaited';
    this.#waiting.add(sent);
    this.#openMore();
    return true;
  }

  #withRoom(but?: Connection): Connection | undefined {
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
    if (count >= MAX_CONNECTIONS_OF_SERVER || this.#isSuspended) return;
    if (this.share.nowMs < this.#retryAtMs) return;
    if (!this.share.mayOpen()) return;
    const connection = new Connection(this, this.#serial++);
    this.#connections.push(connection);
    connection.open();
  }

  get #isSuspended(): boolean {
    return this.share.nowMs < this.#suspendedUntilMs;
  }

  #unqueue(sent: EncryptedQuery): void {
    sent.connection = undefined;
    this.#waiting.delete(sent);
  }

  /**
   * A query that lost its connection is sent once more. What cut one connection may have cut the others: only on one
   * that was opened since then the query is dead. It does not count where the server answered others there: some
   * close a connection after so many.
   */
  #move(sent: EncryptedQuery, { serial, replies }: Connection, code: string): void {
    sent.connection = undefined;
    const hasProgress = replies > 0;
    const isDead = sent.tries >= MAX_TRIES || (!hasProgress && serial >= sent.movedBefore);
    if (!hasProgress && sent.movedBefore === NOT_MOVED) sent.movedBefore = this.#serial;
    if (!isDead && this.#sendOrQueue(sent)) return;
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
