import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { readUint16 } from '@kube-dns/wire';
import { isResponseTo } from '../reply-match.js';
import type { UpstreamTarget } from '../upstream/upstream-sockets.js';
import type { Carrier, CarrierOwner } from './carrier.js';
import { DohCarrier } from './doh-carrier.js';
import { type CarrierTurn, StreamCarrier } from './stream-carrier.js';
import type { EncryptedQuery } from './encrypted-query.js';
import type { HandshakePlaces, HandshakeWaiter } from './handshake-places.js';
import { keepaliveMs } from './keepalive.js';
import { type Arrived, certificateEnd, codeOf, openTcp, openTls } from './open-tls.js';
import type { TlsTrust } from './tls-trust.js';
import { UnderWay } from './under-way.js';

/** Queries under way on one connection. */
const MOST_UNDER_WAY = 100;
/** One that is so slow does not count: the server works on it, and takes others; but so many are the most. */
const SLOW_MS = 1_000;
const MOST_SLOW = 1_000;
const HANDSHAKE_MS = 5_000;
/** In plain text there is none but that of TCP. */
const CONNECT_MS = 1_500;
/** Queries wait, and nothing has arrived for so long: the server is asked for a sign of life, which takes as long at most. */
const SILENCE_MS = 500;
const IDLE_MS = 30_000;

/** What the connections of a process share. */
export interface ConnectionShare extends CarrierTurn {
  readonly handshakes: HandshakePlaces;
  /** When the last tick was, which is precise enough for all but the clock of a question. */
  readonly nowMs: number;
}

/** Is notified by its connections. */
export interface ConnectionOwner {
  readonly share: ConnectionShare;
  readonly target: UpstreamTarget;
  readonly trust: TlsTrust;
  /** A ticket of the server, for a short handshake. */
  readonly ticket: Buffer | undefined;
  onTicket(ticket: Buffer): void;
  /** The handshake is over, and the server is the right one. */
  onOpen(connection: Connection, certificateEndsAt: number | undefined): void;
  /** The first reply on a connection. */
  onReply(): void;
  /** A query has had its reply: there is room for another. */
  onRoom(): void;
  /** The server does not take this query on this connection. */
  onRefused(connection: Connection, query: EncryptedQuery): void;
  onRejected(query: EncryptedQuery, code: string): void;
  /** It is over, for the reason with this code; the queries that are under way have no reply. Without a code it was closed in order. */
  onEnd(connection: Connection, code: string | undefined): void;
}

/** One connection to a server, encrypted or not, with many queries under way. */
export class Connection implements CarrierOwner, HandshakeWaiter {
  /** How often the server has replied here. */
  replies = 0;
  isRetired = false;
  /** Set by the owner: when the certificate of the server ends, in seconds since 1970. */
  certificateEndsAt = Number.POSITIVE_INFINITY;
  /** Its number among those to the server. */
  readonly serial: number;
  readonly #owner: ConnectionOwner;
  readonly #underWay = new UnderWay();
  #socket: Socket | undefined;
  #carrier: Carrier | undefined;
  #slow = 0;
  /** When its handshake began, it was used last, or something arrived; and when it was asked for a sign of life. */
  #sinceMs: number;
  #pingedAtMs = Number.POSITIVE_INFINITY;
  #idleMs = IDLE_MS;
  #isEnded = false;

  constructor(owner: ConnectionOwner, serial: number) {
    this.serial = serial;
    this.#owner = owner;
    this.#sinceMs = owner.share.nowMs;
  }

  get hasReplied(): boolean {
    return this.replies > 0;
  }

  /** The handshake is over. */
  get wasOpen(): boolean {
    return this.#carrier !== undefined;
  }

  get isOpen(): boolean {
    return this.wasOpen && !this.#isEnded;
  }

  /** Whether another query may be sent here. */
  get hasRoom(): boolean {
    return (
      this.isOpen &&
      !this.isRetired &&
      this.load < Math.min(MOST_UNDER_WAY, this.#carrier!.limit) &&
      this.#underWay.size < MOST_SLOW
    );
  }

  /** Queries under way, those left out that are slow. */
  get load(): number {
    return this.#underWay.size - this.#slow;
  }

  /** The queries that have no reply yet. */
  get underWay(): readonly EncryptedQuery[] {
    return this.#underWay.list();
  }

  get isIdle(): boolean {
    return this.isOpen && this.#underWay.size === 0;
  }

  /** Opens the connection, in its turn. */
  open(): void {
    this.#owner.share.handshakes.take(this);
  }

  onTurn(): void {
    this.#sinceMs = this.#owner.share.nowMs;
    try {
      const { target, trust, ticket } = this.#owner;
      const onArrived: Arrived = (bytes, length) => this.#carrier?.push?.(bytes, length);
      const { encryption } = target.server;
      if (encryption === undefined) this.#openPlain(openTcp(target, onArrived));
      else {
        const isHttps = encryption.protocol === 'https';
        this.#openEncrypted(openTls(target, trust, ticket, isHttps ? undefined : onArrived));
      }
    } catch (error) {
      // The source is no address.
      setImmediate(() => this.#end(codeOf(error)));
    }
  }

  /** Sends a query under an ID of its own. */
  send(sent: EncryptedQuery): void {
    const { nowMs } = this.#owner.share;
    if (this.#underWay.size === 0) this.#sinceMs = nowMs;
    this.#underWay.add(sent);
    sent.connection = this;
    sent.sinceMs = nowMs;
    sent.tries++;
    this.#carrier!.send(sent.id, sent.query);
  }

  forget(sent: EncryptedQuery): void {
    this.#carrier!.cancel(sent.id);
    this.#take(sent.id);
  }

  onMessage(message: Buffer): void {
    this.onAlive();
    if (message.length < 2 || this.#isEnded) return;
    const id = readUint16(message, 0);
    const sent = this.#underWay.get(id);
    if (sent === undefined || !isResponseTo(sent.query, message)) return;
    if (!this.hasReplied) this.#owner.onReply();
    this.replies++;
    if (this.#underWay.size === 1)
      this.#idleMs = Math.min(IDLE_MS, keepaliveMs(message) ?? IDLE_MS);
    this.#take(id);
    sent.onReply(message);
    this.#owner.onRoom();
  }

  onAlive(): void {
    this.#sinceMs = this.#owner.share.nowMs;
    this.#pingedAtMs = Number.POSITIVE_INFINITY;
  }

  onRefused(id: number): void {
    const sent = this.#take(id);
    if (sent !== undefined) this.#owner.onRefused(this, sent);
  }

  onRejected(id: number, code: string): void {
    const sent = this.#take(id);
    if (sent !== undefined) this.#owner.onRejected(sent, code);
  }

  onGoAway(): void {
    this.retire();
  }

  onEnd(code: string): void {
    this.#end(code);
  }

  get #openingMs(): number {
    return this.#owner.target.server.encryption === undefined ? CONNECT_MS : HANDSHAKE_MS;
  }

  /** Does what is due. */
  tick(nowMs: number): void {
    const pauseMs = nowMs - this.#sinceMs;
    if (this.#carrier === undefined) {
      if (this.#socket !== undefined && pauseMs >= this.#openingMs) this.#end('ETIMEDOUT');
    } else if (this.#underWay.size === 0) {
      if (pauseMs >= this.#idleMs || this.isRetired) this.close();
    } else {
      this.#countSlow();
      if (nowMs - this.#pingedAtMs >= SILENCE_MS) this.#end('SILENT');
      else if (pauseMs >= SILENCE_MS && this.#pingedAtMs > nowMs) this.#ping(nowMs);
    }
  }

  /** Sends no more queries; it is closed after the last reply. */
  retire(): void {
    this.isRetired = true;
  }

  /** Closes it in order, when nothing is under way. */
  close(): void {
    this.#carrier?.close();
    this.#end(undefined);
  }

  /** Ends it at once; the owner is not called. */
  destroy(): void {
    this.#isEnded = true;
    this.#owner.share.handshakes.release(this);
    this.#socket?.destroy();
  }

  #openPlain(socket: Socket): void {
    this.#watch(socket);
    socket.on('connect', () => {
      const { share } = this.#owner;
      this.#start(() => new StreamCarrier(this, share, socket, false));
    });
  }

  #openEncrypted(socket: TLSSocket): void {
    this.#watch(socket);
    socket.on('session', (ticket) => this.#owner.onTicket(ticket));
    socket.on('secureConnect', () => {
      const { share, target } = this.#owner;
      const isHttps = target.server.encryption!.protocol === 'https';
      if (isHttps && socket.alpnProtocol !== 'h2') this.#end('NO_HTTP2');
      else if (isHttps) this.#start(() => new DohCarrier(this, socket, target.server), socket);
      else this.#start(() => new StreamCarrier(this, share, socket, true), socket);
    });
  }

  #watch(socket: Socket): void {
    this.#socket = socket;
    socket.on('error', (error) => this.#end(codeOf(error)));
    socket.on('end', () => this.#end('CLOSED'));
    socket.on('close', () => this.#end('CLOSED'));
  }

  /** The handshake is over. */
  #start(createCarrier: () => Carrier, encrypted?: TLSSocket): void {
    const { share } = this.#owner;
    share.handshakes.release(this);
    if (this.#isEnded) return;
    this.#sinceMs = share.nowMs;
    this.#carrier = createCarrier();
    this.#owner.onOpen(this, encrypted && certificateEnd(encrypted));
  }

  #take(id: number): EncryptedQuery | undefined {
    const sent = this.#underWay.get(id);
    if (sent === undefined) return undefined;
    sent.connection = undefined;
    this.#underWay.remove(sent);
    if (this.#isSlow(sent)) this.#slow--;
    return sent;
  }

  #countSlow(): void {
    this.#slow = 0;
    for (const sent of this.#underWay.list()) if (this.#isSlow(sent)) this.#slow++;
  }

  #isSlow({ sinceMs }: EncryptedQuery): boolean {
    return this.#owner.share.nowMs - sinceMs >= SLOW_MS;
  }

  #ping(nowMs: number): void {
    this.#pingedAtMs = nowMs;
    this.#carrier!.ping();
  }

  #end(code: string | undefined): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#owner.share.handshakes.release(this);
    if (code !== undefined) this.#socket?.destroy();
    this.#owner.onEnd(this, code);
  }
}
