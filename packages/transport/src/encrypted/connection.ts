import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { watchTickets } from '@kube-dns/base';
import { EDNS_OPTION, MAX_MESSAGE_BYTES, readUint16, RecordCursor, TYPE } from '@kube-dns/wire';
import type {
  QuerySocket,
  ReplyHandler,
  SentQuery,
  Unreachable,
  UpstreamTarget,
} from '../forward/server-sockets.js';
import { isResponseTo } from '../reply-match.js';
import { SentTable } from '../sent-table.js';
import {
  type Carrier,
  type CarrierHandler,
  DohCarrier,
  type EndOfTurn,
  StreamCarrier,
} from './carriers.js';
import { type Arrived, certificateEnd, codeOf, openTcp, openTls, type TlsTrust } from './tls.js';

/** Queries that are outstanding on one connection. */
const MAX_OUTSTANDING = 100;
/** One that is so slow does not count: the server works on it, and takes others; but so many are the most. */
const SLOW_MS = 1_000;
const MAX_SLOW = 1_000;
const HANDSHAKE_MS = 5_000;
/** In plain text there is none but that of TCP. */
const CONNECT_MS = 1_500;
/** Queries wait, and nothing has arrived for so long: the server is asked for a sign of life, which takes as long at most. */
const SILENCE_MS = 500;
const IDLE_MS = 30_000;
/** Of a greatest age: connections that were opened together do not end together. */
const RANDOM_PART = 1 / 4;
/** A handshake is 1–2 ms of work for this process: so many at a time. */
const MAX_HANDSHAKES = 2;
/** One whose server says nothing for so long is no work; it does not hold up the others. */
const MAX_TURN_MS = 250;
/**
 * What may arrive beside the replies to outstanding queries: SETTINGS, tickets, replies that are late. More than this and
 * twice the longest message for each query is a flood, whatever it is.
 */
const MAX_USELESS_BYTES = 262_144;
const MAX_REPLY_BYTES = 2 * MAX_MESSAGE_BYTES;
/** A handshake that fails and took so much CPU in one turn of the event loop is not tried again soon. */
const LONG_TURN_MS = 50;
const KEEPALIVE_UNIT_MS = 100;
const cursor = new RecordCursor();

/** What the connections of a process share. */
export interface ConnectionShare {
  readonly handshakes: HandshakeSlots;
  readonly turn: EndOfTurn;
  /** When the last tick was, which is precise enough for all but the clock of a question. */
  readonly nowMs: number;
  /** Milliseconds of CPU that the event loop has used, until now and until that tick. */
  cpuMs(): number;
  readonly cpuAtTickMs: number;
}

/** Is notified by its connections. */
export interface ConnectionHandler {
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
  /** It is over, for the reason with this code; those that are outstanding have no reply. Without a code it was closed in order. */
  onEnd(connection: Connection, code: string | undefined): void;
}

/** A retired one takes no more queries: it is closed after the last reply. */
type ConnectionState = 'waits for its turn' | 'opening' | 'open' | 'retired' | 'over';

/**
 * One connection to a server, encrypted or not, with many outstanding queries.
 *
 *     waits for its turn ──► opening ──► open ──► retired
 *               │               │         │          │
 *               └───────────────┴─────────┴──────────┴────► over
 */
export class Connection implements CarrierHandler, HandshakeWaiter {
  /** How often the server has replied here. */
  replies = 0;
  /** Set by the handler: when the certificate of the server ends, in seconds since 1970. */
  certificateEndsAt = Number.POSITIVE_INFINITY;
  /** Its number among those to the server. */
  readonly serial: number;
  /** When its handshake was over; and which part of the greatest age it reaches. */
  #openedAtMs = Number.POSITIVE_INFINITY;
  readonly #ageShare = 1 - RANDOM_PART * Math.random();
  readonly #handler: ConnectionHandler;
  readonly #outstanding = new SentTable<EncryptedQuery>();
  #socket: Socket | undefined;
  #carrier: Carrier | undefined;
  #slow = 0;
  /** When its handshake began, it was used last, or something arrived; and when it was asked for a sign of life. */
  #sinceMs: number;
  #pingedAtMs = Number.POSITIVE_INFINITY;
  #idleMs = IDLE_MS;
  /** What had arrived at the last tick, how many replies, and the bytes that no reply has accounted for. */
  #bytesAtTick = 0;
  #repliesAtTick = 0;
  #uselessBytes = 0;
  #cpuAtOpeningMs = 0;
  #state: ConnectionState = 'waits for its turn';

  constructor(handler: ConnectionHandler, serial: number) {
    this.serial = serial;
    this.#handler = handler;
    this.#sinceMs = handler.share.nowMs;
  }

  /** Whether it has reached its part of a greatest age. */
  isOlderThan(maxAgeMs: number): boolean {
    return this.#handler.share.nowMs - this.#openedAtMs >= maxAgeMs * this.#ageShare;
  }

  get hasReplied(): boolean {
    return this.replies > 0;
  }

  /** The handshake is over. */
  get wasOpen(): boolean {
    return this.#carrier !== undefined;
  }

  get isOpen(): boolean {
    return this.#state === 'open' || this.#state === 'retired';
  }

  get isRetired(): boolean {
    return this.#state === 'retired';
  }

  /** Whether another query may be sent here. */
  get hasRoom(): boolean {
    return (
      this.#state === 'open' &&
      this.load < Math.min(MAX_OUTSTANDING, this.#carrier!.limit) &&
      this.#outstanding.size < MAX_SLOW
    );
  }

  /** Outstanding queries, those left out that are slow. */
  get load(): number {
    return this.#outstanding.size - this.#slow;
  }

  /** The queries that have no reply yet. */
  get outstanding(): readonly EncryptedQuery[] {
    return this.#outstanding.all();
  }

  get isIdle(): boolean {
    return this.isOpen && this.#outstanding.size === 0;
  }

  /** Opens the connection, in its turn. */
  open(): void {
    this.#handler.share.handshakes.acquire(this);
  }

  onTurn(): void {
    this.#state = 'opening';
    this.#sinceMs = this.#handler.share.nowMs;
    try {
      const { target, trust, ticket } = this.#handler;
      const onArrived: Arrived = (bytes, length) => this.#carrier?.push?.(bytes, length);
      const { encryption } = target.server;
      if (encryption === undefined) this.#openPlain(openTcp(target, onArrived));
      else {
        const isHttps = encryption.protocol === 'https';
        this.#openEncrypted(openTls(target, trust, ticket, isHttps ? undefined : onArrived));
      }
      // The first one reads the trusted certificates, which is no work of the server.
      this.#cpuAtOpeningMs = this.#handler.share.cpuMs();
    } catch (error) {
      // The source is no address.
      setImmediate(() => this.onEnd(codeOf(error)));
    }
  }

  /** Sends a query under an ID of its own. */
  send(sent: EncryptedQuery): void {
    const { nowMs } = this.#handler.share;
    if (this.#outstanding.size === 0) this.#sinceMs = nowMs;
    sent.id = this.#outstanding.drawId();
    this.#outstanding.add(sent);
    sent.connection = this;
    sent.sinceMs = nowMs;
    sent.tries++;
    this.#carrier!.send(sent.id, sent.query);
  }

  forget(sent: EncryptedQuery): void {
    this.#carrier!.cancel(sent.id);
    this.#remove(sent.id);
  }

  onMessage(message: Buffer): void {
    this.onAlive();
    if (message.length < 2 || this.#state === 'over') return;
    const id = readUint16(message, 0);
    const sent = this.#outstanding.find(id);
    if (sent === undefined || !isResponseTo(sent.query, message)) return;
    if (!this.hasReplied) this.#handler.onReply();
    this.replies++;
    if (this.#outstanding.size === 1)
      this.#idleMs = Math.min(IDLE_MS, keepaliveMs(message) ?? IDLE_MS);
    this.#remove(id);
    sent.onReply(message);
    this.#handler.onRoom();
  }

  onAlive(): void {
    this.#sinceMs = this.#handler.share.nowMs;
    this.#pingedAtMs = Number.POSITIVE_INFINITY;
  }

  onRefused(id: number): void {
    const sent = this.#remove(id);
    if (sent !== undefined) this.#handler.onRefused(this, sent);
  }

  onRejected(id: number, code: string): void {
    const sent = this.#remove(id);
    if (sent !== undefined) this.#handler.onRejected(sent, code);
  }

  /** It is over, once; without a code it was closed in order. */
  onEnd(code?: string): void {
    if (this.#state === 'over') return;
    const { share } = this.#handler;
    const hasFailedSlowly = this.#state === 'opening' && this.#turnCpuMs >= LONG_TURN_MS;
    this.#state = 'over';
    share.handshakes.release(this);
    if (code !== undefined) this.#socket?.destroy();
    this.#handler.onEnd(this, code === undefined || !hasFailedSlowly ? code : 'SLOW_HANDSHAKE');
  }

  /** CPU since the last tick, or since the handshake has begun: what an opening connection has used in this turn, and a bit more. */
  get #turnCpuMs(): number {
    const { share } = this.#handler;
    return share.cpuMs() - Math.max(share.cpuAtTickMs, this.#cpuAtOpeningMs);
  }

  get #openingMs(): number {
    return this.#handler.target.server.encryption === undefined ? CONNECT_MS : HANDSHAKE_MS;
  }

  /** Does what is due. */
  tick(nowMs: number): void {
    const pauseMs = nowMs - this.#sinceMs;
    if (this.#state === 'opening' && pauseMs >= this.#openingMs) this.onEnd('ETIMEDOUT');
    if (!this.isOpen) return;
    if (this.#isFlooded()) {
      this.onEnd('FLOOD');
      return;
    }
    if (this.#outstanding.size === 0) {
      if (pauseMs >= this.#idleMs || this.isRetired) this.close();
      return;
    }
    this.#countSlow();
    if (nowMs - this.#pingedAtMs >= SILENCE_MS) this.onEnd('SILENT');
    else if (pauseMs >= SILENCE_MS && this.#pingedAtMs > nowMs) this.#ping(nowMs);
  }

  /** Takes no more queries, if it is open. */
  retire(): void {
    if (this.#state === 'open') this.#state = 'retired';
  }

  /** Closes it in order, when nothing is outstanding. */
  close(): void {
    this.#carrier?.close();
    this.onEnd();
  }

  /** Ends it at once; the handler is not called. */
  destroy(): void {
    this.#state = 'over';
    this.#handler.share.handshakes.release(this);
    this.#socket?.destroy();
  }

  #openPlain(socket: Socket): void {
    this.#watch(socket);
    socket.on('connect', () => {
      const { share } = this.#handler;
      this.#start(() => new StreamCarrier(this, share.turn, socket, false));
    });
  }

  #openEncrypted(socket: TLSSocket): void {
    this.#watch(socket);
    socket.on('session', (ticket) => this.#handler.onTicket(ticket));
    watchTickets(socket, () => this.onEnd('FLOOD'));
    socket.on('secureConnect', () => {
      const { share, target } = this.#handler;
      const isHttps = target.server.encryption!.protocol === 'https';
      if (isHttps && socket.alpnProtocol !== 'h2') this.onEnd('NO_HTTP2');
      else if (isHttps) this.#start(() => new DohCarrier(this, socket, target.server), socket);
      else this.#start(() => new StreamCarrier(this, share.turn, socket, true), socket);
    });
  }

  #watch(socket: Socket): void {
    this.#socket = socket;
    socket.on('error', (error) => this.onEnd(codeOf(error)));
    socket.on('end', () => this.onEnd('CLOSED'));
    socket.on('close', () => this.onEnd('CLOSED'));
  }

  /** The handshake is over. */
  #start(createCarrier: () => Carrier, encrypted?: TLSSocket): void {
    const { share } = this.#handler;
    share.handshakes.release(this);
    if (this.#state === 'over') return;
    this.#sinceMs = this.#openedAtMs = share.nowMs;
    this.#carrier = createCarrier();
    this.#state = 'open';
    this.#handler.onOpen(this, encrypted && certificateEnd(encrypted));
  }

  #remove(id: number): EncryptedQuery | undefined {
    const sent = this.#outstanding.find(id);
    if (sent === undefined) return undefined;
    sent.connection = undefined;
    this.#outstanding.remove(sent);
    if (this.#isSlow(sent)) this.#slow--;
    return sent;
  }

  #countSlow(): void {
    this.#slow = 0;
    for (const sent of this.#outstanding.all()) if (this.#isSlow(sent)) this.#slow++;
  }

  /** Whether more has arrived than the replies, and those to all outstanding queries, can have. */
  #isFlooded(): boolean {
    const { bytesRead } = this.#socket!;
    const repliesBytes = (this.replies - this.#repliesAtTick) * MAX_REPLY_BYTES;
    const bytes = this.#uselessBytes + bytesRead - this.#bytesAtTick;
    this.#uselessBytes = Math.max(0, bytes - repliesBytes);
    this.#bytesAtTick = bytesRead;
    this.#repliesAtTick = this.replies;
    return this.#uselessBytes > MAX_USELESS_BYTES + this.#outstanding.size * MAX_REPLY_BYTES;
  }

  #isSlow({ sinceMs }: EncryptedQuery): boolean {
    return this.#handler.share.nowMs - sinceMs >= SLOW_MS;
  }

  #ping(nowMs: number): void {
    this.#pingedAtMs = nowMs;
    this.#carrier!.ping();
  }
}

export const NOT_MOVED = Number.POSITIVE_INFINITY;

/** A query to an encrypted server. */
export class EncryptedQuery implements SentQuery {
  readonly socket: QuerySocket;
  readonly handler: ReplyHandler;
  query: Buffer;
  /** Where it is outstanding, with which ID, and since when; undefined when it is not sent, or has ended. */
  connection: Connection | 'awaited' | undefined;
  id = 0;
  /** Of the table of the connection. */
  next: EncryptedQuery | undefined;
  sinceMs = 0;
  /** How often it was sent. */
  tries = 0;
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
    if (other?.connection === undefined) this.handler.onUnreachable(sent, why);
  }
}

/** Waits for its turn to open a connection. */
export interface HandshakeWaiter {
  /** Its turn: it calls `release` when the handshake is over. */
  onTurn(): void;
}

/** Whose turn it is to open a connection: at most two TLS handshakes run at a time. */
export class HandshakeSlots {
  /** Since when each of them runs. */
  readonly #running = new Map<HandshakeWaiter, number>();
  readonly #queue = new Set<HandshakeWaiter>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Calls the waiter in its turn, which may be at once. */
  acquire(waiter: HandshakeWaiter): void {
    this.#queue.add(waiter);
    this.#serve();
  }

  /** The waiter does not wait, or its handshake is over. */
  release(waiter: HandshakeWaiter): void {
    this.#queue.delete(waiter);
    if (this.#running.delete(waiter)) this.#serve();
  }

  /** Ends the turns that are too long. */
  tick(): void {
    const nowMs = this.#now();
    for (const [waiter, sinceMs] of this.#running) {
      if (nowMs - sinceMs >= MAX_TURN_MS) this.#running.delete(waiter);
    }
    this.#serve();
  }

  #serve(): void {
    for (const waiter of this.#queue) {
      if (this.#running.size >= MAX_HANDSHAKES) return;
      this.#queue.delete(waiter);
      this.#running.set(waiter, this.#now());
      waiter.onTurn();
    }
  }
}

/** How long the server lets a connection be idle (RFC 7828 section 3.1); undefined when the reply does not say. */
function keepaliveMs(reply: Uint8Array): number | undefined {
  cursor.reset(reply, reply.length);
  while (cursor.next()) {
    if (cursor.type !== TYPE.OPT) continue;
    for (let at = cursor.rdataStart; at + 4 <= cursor.end; at += 4 + readUint16(reply, at + 2)) {
      const isIt = readUint16(reply, at) === EDNS_OPTION.TCP_KEEPALIVE;
      if (isIt && readUint16(reply, at + 2) === 2 && at + 6 <= cursor.end) {
        return readUint16(reply, at + 4) * KEEPALIVE_UNIT_MS;
      }
    }
  }
  return undefined;
}
