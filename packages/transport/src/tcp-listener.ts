import { MAX_MESSAGE_BYTES } from '@kube-dns/wire';
import {
  type AddressedClient,
  type AnswerSource,
  type ReplyPath,
  type ReplyStream,
  type RetainedQuery,
  type Session,
  SOURCE,
} from './answerer.js';
import type { ListenerCounters } from './counters.js';
import { nowMs } from './batch-clock.js';
import { descriptorShare } from './descriptor-limit.js';
import { FrameReader, PREFIX_BYTES } from './frame-reader.js';
import type { MessageHandler } from './message-handler.js';
import { copyAddress, type ServerAddress } from './server-address.js';
import { type AnswerCookie, withRoom } from './server-cookies.js';
import type { TcpServer, TcpServerOwner, TcpSocket, TcpSocketOwner } from './tcp-server.js';
import type { UdpEngine } from './udp-engine.js';

export interface TcpLimits {
  /**
   * Open connections at the same time, without those of sessions that stay; beyond, the longest idle one is closed, of the client with
   * most of them if it has more than a tenth. At most three eighths of the descriptors that the process may have.
   */
  readonly maxConnections: number;
  /**
   * Sessions that may stay, as who serves them limits them. Until there are so many, connections of the last two seconds that have
   * sent nothing yet may take their places: when many clients come back at a time, all are accepted before one is read.
   */
  readonly maxSessions: number;
  /** A connection without traffic for this long is closed. */
  readonly idleTimeoutMs: number;
  /**
   * A connection is ended at an age between three quarters of this and all of it, drawn at random, when no answer is due on it:
   * its client opens another one (RFC 7766 section 6.2.4), which may lead to another process behind the address. 0 is never.
   * Sessions that stay are left alone.
   */
  readonly maxAgeMs: number;
}

/** Of the descriptors of the process: sessions, upstream servers, files and metrics need some too. */
const SHARE_OF_DESCRIPTORS = 3 / 8;
/** The random part of a greatest age: connections that began together do not end together. */
const RANDOM_PART = 1 / 4;
/** How often times are looked at, */
const LOOK_MS = 1_000;
/** and in what part of an idle time at least: a connection may be idle for so much longer. */
const IDLE_PART = 1 / 4;
/** A client that has not closed its side of an ended connection after so long, or not read its answers, is cut off. */
const ENDING_MS = 10_000;

/** Accepts DNS over TCP and passes the queries to a handler. */
export class TcpListener implements TcpServerOwner {
  readonly #handler: MessageHandler;
  readonly #limits: TcpLimits;
  readonly #maxConnections: number;
  readonly #counters: ListenerCounters;
  readonly #server: TcpServer;
  readonly #shares = new TcpShares();
  /** In order of last use, the longest unused first. */
  readonly #connections = new Set<TcpConnection>();
  /** The last one. */
  #newest: TcpConnection | undefined;
  /** Those that stay: their number is limited by who serves them. */
  readonly #sessions = new Set<TcpConnection>();
  /** Looks at times while there are connections. */
  #timer: NodeJS.Timeout | undefined;
  readonly #events: ConnectionEvents = {
    onTooMuch: () => this.#cutGreatest(),
    onUsed: (connection) => this.#noteUse(connection),
    onStay: (connection) => {
      this.#connections.delete(connection);
      this.#sessions.add(connection);
      this.#counters.tcpOpen--;
    },
    onClosed: (connection) => {
      this.#connections.delete(connection);
      if (!this.#sessions.delete(connection)) this.#counters.tcpOpen--;
    },
  };

  constructor(
    engine: Pick<UdpEngine, 'createTcpServer'>,
    handler: MessageHandler,
    limits: TcpLimits,
    counters: ListenerCounters,
  ) {
    this.#handler = handler;
    this.#limits = limits;
    this.#maxConnections = descriptorShare(limits.maxConnections, SHARE_OF_DESCRIPTORS);
    this.#counters = counters;
    this.#server = engine.createTcpServer(this);
  }

  /** Binds; rejects with the system's error. `reusesPort` is that of a `DatagramSocket`. */
  open(address: string, port: number, reusesPort = false): Promise<void> {
    return this.#server.open(address, port, reusesPort);
  }

  /** Accepts no further connections; open ones are still served. */
  stopAccepting(): void {
    this.#server.stopAccepting();
  }

  /** Resolves when the received queries of every connection, or also of every session that stays, are answered and it is ended. */
  async endConnections(endsSessions: boolean): Promise<void> {
    const all = [...this.#connections, ...(endsSessions ? this.#sessions : [])];
    await Promise.all(all.map((connection) => connection.end()));
  }

  async close(): Promise<void> {
    this.#stopLooking();
    for (const all of [this.#connections, this.#sessions])
      for (const connection of all) connection.close();
    await this.#server.close();
  }

  accept(socket: TcpSocket): void {
    const isFull = this.#connections.size >= this.#maxConnections;
    if (isFull && !this.#hasPlaceForNew() && !this.#makePlace(socket.address)) {
      this.#counters.tcpRefused++;
      socket.destroy();
      return;
    }
    this.#counters.tcpConnections++;
    this.#counters.tcpOpen++;
    const connection = new TcpConnection(socket, this.#handler, this.#shares, this.#events);
    this.#connections.add(connection);
    this.#newest = connection;
    this.#startLooking();
  }

  onAcceptFailure(): void {
    this.#counters.tcpRefused++;
  }

  onTurn(): void {
    this.#shares.beginTurn();
  }

  needsLoop(): boolean {
    return this.#shares.needsLoop;
  }

  #noteUse(connection: TcpConnection): void {
    if (connection === this.#newest || !this.#connections.delete(connection)) return;
    this.#connections.add(connection);
    this.#newest = connection;
  }

  #startLooking(): void {
    if (this.#timer !== undefined) return;
    const { maxAgeMs, idleTimeoutMs } = this.#limits;
    const times = [LOOK_MS, maxAgeMs * RANDOM_PART, idleTimeoutMs * IDLE_PART];
    const lookMs = Math.min(...times.filter((ms) => ms > 0));
    this.#timer = setInterval(() => this.#look(), lookMs).unref();
  }

  #stopLooking(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    if (this.#connections.size === 0) this.#stopLooking();
    const nowMs = performance.now();
    for (const connection of this.#connections) {
      if (connection.idleMs(nowMs) < this.#limits.idleTimeoutMs) this.#endOld(connection, nowMs);
      else {
        this.#counters.tcpIdleClosed++;
        connection.close();
      }
    }
  }

  /** A client that stays for ever on the process that it found would have nothing of others that came later. */
  #endOld(connection: TcpConnection, nowMs: number): void {
    const { maxAgeMs } = this.#limits;
    const overMs = nowMs - connection.acceptedMs - maxAgeMs * connection.ageShare;
    if (maxAgeMs === 0 || overMs < 0) return;
    if (overMs >= ENDING_MS) connection.close();
    else if (!connection.isToEnd) {
      this.#counters.tcpAgeClosed++;
      void connection.end();
    }
  }

  /**
   * Closes the longest idle connection: of the client that has most of them, if that is more than a tenth, because others
   * that have just connected are idle, too; of any client if not. Where all are busy such a client loses its oldest one to another
   * client. False when there is none to close.
   */
  #makePlace(newClient: string): boolean {
    const greediest = this.#greediest();
    let oldest: TcpConnection | undefined;
    for (const connection of this.#connections) {
      if (greediest !== undefined && connection.address !== greediest) continue;
      oldest ??= connection;
      if (connection.isBusy()) continue;
      this.#refuse(connection);
      return true;
    }
    if (greediest === undefined || greediest === newClient || oldest === undefined) return false;
    this.#refuse(oldest);
    return true;
  }

  /** The address of the client that has most connections; undefined when none has more than a tenth. */
  #greediest(): string | undefined {
    const counts = new Map<string, number>();
    let most = this.#maxConnections / 10;
    let greediest: string | undefined;
    for (const { address } of this.#connections) {
      const count = (counts.get(address) ?? 0) + 1;
      counts.set(address, count);
      if (count > most) [most, greediest] = [count, address];
    }
    return greediest;
  }

  /** Cuts off those that hold most memory until all together hold no more than they may. */
  #cutGreatest(): void {
    while (this.#shares.isTooMuch()) {
      let most = 0;
      let greatest: TcpConnection | undefined;
      for (const all of [this.#connections, this.#sessions])
        for (const connection of all) {
          const held = connection.countHeld();
          if (held > most) [most, greatest] = [held, connection];
        }
      if (greatest === undefined || !this.#shares.isTooMuch()) return;
      this.#counters.tcpRefused++;
      greatest.cut();
    }
  }

  #refuse(connection: TcpConnection): void {
    this.#counters.tcpRefused++;
    this.#connections.delete(connection);
    connection.close();
  }

  /** Whether even the longest idle connection may still become a session, for which there is a place. */
  #hasPlaceForNew(): boolean {
    const all = this.#connections.size + this.#sessions.size;
    if (all >= this.#maxConnections + this.#limits.maxSessions) return false;
    for (const connection of this.#connections) if (!connection.isBusy()) return connection.isNew();
    return false;
  }
}

const NO_MESSAGE = new Uint8Array(0);
/** This many queries of one connection may wait for an answer; the next is read when one is answered. */
const MAX_DEFERRED = 100;
/** This many queries of one connection are answered before the others' turn, */
const MAX_PER_TURN = 8;
/** or fewer with so many bytes of answers. */
const MAX_BYTES_PER_TURN = 32 * 1024;
/** One message at a time is read, and answered. */
const incoming = new Uint8Array(MAX_MESSAGE_BYTES);
/** The buffer that answers are written to; sending copies them. */
const out = new Uint8Array(MAX_MESSAGE_BYTES);
/** Many connections that are accepted in one turn are read in the next ones. */
const NEW_MS = 2_000;
/** A connection that has to end is ended when its client has sent nothing for this long, */
const PAUSE_MS = 50;
/** or, if the client never pauses, after this time when no answer is due, */
const LAST_QUERY_MS = 1_000;
/** or, if one always is, when what came until this time is answered: the client asks the rest again elsewhere. */
const LAST_READ_MS = 3_000;

/** What the connections of a listener report. */
export interface ConnectionEvents {
  /** With it all connections together hold too much memory. */
  onTooMuch(): void;
  /** Its client has sent something. */
  onUsed(connection: TcpConnection): void;
  /** It is a session that stays. */
  onStay(connection: TcpConnection): void;
  onClosed(connection: TcpConnection): void;
}

/**
 * One client over TCP: several queries on a connection, each answered as soon as its answer is ready
 * (RFC 7766 section 6.2.1.1). Reading stops while too many answers are due or unread.
 */
export class TcpConnection implements AddressedClient, Reading, Session, TcpSocketOwner {
  readonly address: string;
  readonly port: number;
  readonly #socket: TcpSocket;
  readonly #handler: MessageHandler;
  readonly #shares: TcpShares;
  readonly #events: ConnectionEvents;
  readonly #frames = new FrameReader();
  /** The bytes counted for it in the shares. */
  #heldBytes = 0;
  /** Bytes that were sent to it alone since it had read all: at least those of them that it has not read. */
  #ownBytes = 0;
  #deferred = 0;
  #hasEnded = false;
  /** An empty message ended it, as in dnsmasq (src/forward.c, tcp_request): nothing more is read. */
  #isOver = false;
  #isEnding = false;
  #hasFinished = false;
  #isReading = false;
  #hasSent = false;
  readonly acceptedMs = nowMs();
  /** Which part of the greatest age it reaches. */
  readonly ageShare = 1 - RANDOM_PART * Math.random();
  #usedMs = this.acceptedMs;
  /** What was unsent at the last look. */
  #lastUnsentBytes = 0;
  /** Of `end`. */
  #ended: Promise<void> | undefined;
  #pause: NodeJS.Timeout | undefined;
  #resolveEnded: (() => void) | undefined;
  #stays = false;
  /** Made for the first answer of several messages, and the first that wants to know of the end. */
  #streams: Set<TcpReplyStream> | undefined;
  #closeListeners: (() => void)[] | undefined;
  /** Made for the first deferred answer. */
  #readOn: (() => void) | undefined;

  constructor(
    socket: TcpSocket,
    handler: MessageHandler,
    shares: TcpShares,
    events: ConnectionEvents,
  ) {
    this.#socket = socket;
    this.#handler = handler;
    this.#shares = shares;
    this.#events = events;
    this.address = socket.address;
    this.port = socket.port;
    shares.connections++;
    socket.start(this);
  }

  onData(bytes: Buffer, length: number): void {
    this.#usedMs = nowMs();
    this.#events.onUsed(this);
    this.#pause?.refresh();
    if (!this.#socket.isWritable || this.#isOver) return;
    this.#hasSent = true;
    this.#frames.push(bytes, length);
    this.readOn();
  }

  onDrain(): void {
    this.readOn();
    for (const stream of this.#streams ?? []) stream.onDrain?.();
  }

  onEnd(): void {
    this.#hasEnded = true;
    this.readOn();
  }

  onFinish(): void {
    this.#hasFinished = true;
    this.#resolveEnded?.();
  }

  onClosed(): void {
    this.#shares.connections--;
    this.#hold(0);
    this.#shares.leave(this);
    this.#resolveEnded?.();
    this.#events.onClosed(this);
    for (const stream of this.#streams ?? []) stream.close();
    for (const listener of this.#closeListeners ?? []) listener();
  }

  /** Whether a query of this connection still waits for its answer, or it is a session that stays. */
  isBusy(): boolean {
    return this.#deferred > 0 || this.#stays;
  }

  /** Whether it has sent nothing yet, and had little time to. */
  isNew(): boolean {
    return !this.#hasSent && nowMs() - this.acceptedMs < NEW_MS;
  }

  /** For how long nothing was received or sent, and the client has taken nothing of what is unsent; for regular looks. */
  idleMs(nowMs: number): number {
    const { unsentBytes } = this.#socket;
    if (unsentBytes !== this.#lastUnsentBytes) this.#usedMs = nowMs;
    this.#lastUnsentBytes = unsentBytes;
    return nowMs - this.#usedMs;
  }

  get unsentBytes(): number {
    return this.#socket.unsentBytes;
  }

  get isClosed(): boolean {
    return this.#socket.isClosed;
  }

  stay(): void {
    if (this.#stays) return;
    this.#stays = true;
    this.#events.onStay(this);
  }

  push(bytes: Uint8Array): void {
    this.#sendNow(bytes, bytes.length);
  }

  /** They take no memory of its own, so they are not counted: many that read slowly at a time are not cut off for it. */
  pushFrames(frames: Uint8Array): void {
    if (!this.#isSendable()) return;
    this.#socket.write(frames);
    this.#socket.flush();
  }

  close(): void {
    this.#socket.flush();
    this.#socket.destroy();
  }

  /** Ends a connection whose client does not read: the system drops what is unsent, and the client learns it at once. */
  reset(): void {
    this.#socket.reset();
  }

  onClose(listener: () => void): void {
    (this.#closeListeners ??= []).push(listener);
  }

  copyAddress(to: Uint8Array, at: number): number {
    return copyAddress(this.address, to, at);
  }

  answersFrom(source: AnswerSource): void {
    this.#handler.source = source;
  }

  defer(): ReplyPath {
    this.#shares.needsLoop = true;
    this.#deferred++;
    const { query, retainedCookie } = this.#handler;
    const observed = this.#handler.retainObserved();
    return new TcpReplyPath(this, query.maxAnswerBytes, retainedCookie, observed);
  }

  stream(): ReplyStream {
    this.#shares.needsLoop = true;
    this.#deferred++;
    const stream = new TcpReplyStream(this, this.#handler.retainObserved());
    (this.#streams ??= new Set()).add(stream);
    return stream;
  }

  /** Sends a message of an answer of several; false when the client has enough to read. */
  sendPart(bytes: Uint8Array, length: number): boolean {
    this.#sendNow(bytes, length);
    return !this.#socket.needsDrain;
  }

  /** An answer of several messages is complete. */
  endStream(stream: TcpReplyStream, first: Uint8Array): void {
    this.#streams?.delete(stream);
    this.#deferred--;
    this.#handler.countAnswer(first);
    this.#readOnSoon();
  }

  /** Sends a deferred answer, fitted to its client's size (nothing when `length` is 0), and continues to read; returns its length. */
  finish(answer: Uint8Array, length: number, maxBytes: number, cookie: AnswerCookie): number {
    this.#deferred--;
    this.#readOnSoon();
    if (length === 0) return 0;
    this.#usedMs = nowMs();
    const fitted = this.#handler.fit(answer, length, maxBytes, cookie);
    this.#send(answer, fitted);
    this.#account();
    return fitted;
  }

  /** Counts the bytes that it holds now in the shares, and returns them. */
  countHeld(): number {
    const unread = Math.min(this.#ownBytes, this.#socket.unsentBytes);
    this.#hold(this.isClosed ? 0 : this.#frames.heldBytes + unread);
    return this.#heldBytes;
  }

  /** Ends it at once, with what it holds. */
  cut(): void {
    this.#socket.destroy();
    this.countHeld();
  }

  /** `end` was called. */
  get isToEnd(): boolean {
    return this.#ended !== undefined;
  }

  /**
   * Ends the connection when the client pauses; resolves when its queries are answered and the system has
   * the answers. What the client sends later is read and dropped: unread bytes would make the system reset
   * the connection, and the client could lose answers that it has not read yet.
   */
  end(): Promise<void> {
    return (this.#ended ??= this.#end());
  }

  /** Answers the received queries, as far as this connection's turn allows. */
  readOn(): void {
    const socket = this.#socket;
    if (this.#isReading || this.isClosed) return;
    this.#isReading = true;
    let isStarved = this.#isOver;
    let answers = 0;
    let answerBytes = 0;
    while (!isStarved && this.#mayRead()) {
      const length = this.#frames.nextLength;
      this.#isOver = length === 0;
      isStarved = length <= 0;
      if (isStarved) break;
      const hadTurn = answers === MAX_PER_TURN || answerBytes >= MAX_BYTES_PER_TURN;
      if (hadTurn || !this.#shares.hasTime()) {
        this.#shares.wait(this, answers > 0);
        break;
      }
      answers++;
      this.#frames.take(length, incoming);
      if (this.#handler.handleSession(incoming, length, this)) {
        this.#shares.needsLoop = true;
        continue;
      }
      const answerLength = this.#handler.handle(incoming, length, true, this, out);
      if (answerLength > 0) this.#send(out, answerLength);
      answerBytes += answerLength;
    }
    this.#isReading = false;
    this.#frames.retain();
    const isLast = this.#hasEnded || this.#isEnding || this.#isOver;
    if (isStarved && isLast && this.#deferred === 0) socket.end();
    else socket.flush();
    if (isStarved) socket.resume();
    else socket.pause();
    this.#account();
  }

  async #end(): Promise<void> {
    if (this.#hasFinished || this.#socket.isClosed) return;
    const ended = new Promise<void>((resolve) => (this.#resolveEnded = resolve));
    const end = () => {
      this.#isEnding = true;
      this.readOn();
    };
    this.#pause = setTimeout(end, PAUSE_MS);
    const latest = setTimeout(end, LAST_QUERY_MS);
    const lastRead = setTimeout(() => {
      this.#isOver = true;
      end();
    }, LAST_READ_MS);
    await ended;
    for (const timer of [this.#pause, latest, lastRead]) clearTimeout(timer);
    this.#pause = undefined;
  }

  /** Not immediately: the answerer may be in the middle of sending replies, or inside `answer`. */
  #readOnSoon(): void {
    this.#shares.needsLoop = true;
    process.nextTick((this.#readOn ??= () => this.readOn()));
  }

  #account(): void {
    this.countHeld();
    if (this.#shares.isTooMuch()) this.#events.onTooMuch();
  }

  #hold(bytes: number): void {
    this.#shares.heldBytes += bytes - this.#heldBytes;
    this.#heldBytes = bytes;
  }

  #mayRead(): boolean {
    const { isClosed, unsentBytes } = this.#socket;
    return this.#deferred < MAX_DEFERRED && unsentBytes < this.#shares.unsentBytes && !isClosed;
  }

  /** Sends outside of a turn of reading. */
  #sendNow(bytes: Uint8Array, length: number): void {
    this.#usedMs = nowMs();
    this.#send(bytes, length);
    if (this.#isReading) return;
    this.#socket.flush();
    this.#account();
  }

  /** Sends at the end of the turn. */
  #send(bytes: Uint8Array, length: number): void {
    if (!this.#isSendable()) return;
    if (this.#socket.unsentBytes === 0) this.#ownBytes = 0;
    this.#ownBytes += PREFIX_BYTES + length;
    this.#socket.send(bytes, length);
  }

  /** Cuts a session that stays off when its client leaves too much unread: nothing that it has to send waits for that. */
  #isSendable(): boolean {
    const socket = this.#socket;
    if (!socket.isWritable) return false;
    if (!this.#stays || socket.unsentBytes <= MAX_UNSENT_BYTES) return true;
    socket.destroy();
    return false;
  }
}

class TcpReplyPath implements ReplyPath {
  readonly address: string;
  readonly port: number;
  #connection: TcpConnection | undefined;
  readonly #maxBytes: number;
  readonly #cookie: AnswerCookie;
  readonly #observed: RetainedQuery | undefined;

  constructor(
    connection: TcpConnection,
    maxBytes: number,
    cookie: AnswerCookie,
    observed: RetainedQuery | undefined,
  ) {
    this.address = connection.address;
    this.port = connection.port;
    this.#connection = connection;
    this.#maxBytes = maxBytes;
    this.#cookie = cookie;
    this.#observed = observed;
  }

  send(
    message: Uint8Array,
    length: number,
    source: AnswerSource = SOURCE.LOCAL,
    server?: ServerAddress,
  ): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection === undefined) return;
    const answer = length > 0 ? withRoom(message, length, this.#cookie) : message;
    const sent = connection.finish(answer, length, this.#maxBytes, this.#cookie);
    this.#observed?.answered(answer, sent, source, server);
  }

  abandon(): void {
    this.send(NO_MESSAGE, 0, SOURCE.NONE);
  }
}

class TcpReplyStream implements ReplyStream {
  readonly address: string;
  readonly port: number;
  onDrain: (() => void) | undefined;
  onClose: (() => void) | undefined;
  #connection: TcpConnection | undefined;
  readonly #observed: RetainedQuery | undefined;
  /** The head of the first message: with the last one it is counted, and observed, as the answer. */
  #first: Uint8Array | undefined;

  constructor(connection: TcpConnection, observed: RetainedQuery | undefined) {
    this.address = connection.address;
    this.port = connection.port;
    this.#connection = connection;
    this.#observed = observed;
  }

  write(message: Uint8Array, length: number): boolean {
    this.#first ??= message.slice(0, length);
    return this.#connection?.sendPart(message, length) ?? false;
  }

  end(): void {
    const connection = this.#leave();
    const first = this.#first ?? NO_MESSAGE;
    connection?.endStream(this, first);
    if (connection !== undefined)
      this.#observed?.answered(first, first.length, SOURCE.ZONE, undefined);
  }

  abort(): void {
    const connection = this.#leave();
    if (connection === undefined) return;
    this.#observed?.answered(NO_MESSAGE, 0, SOURCE.NONE, undefined);
    connection.reset();
  }

  /** The connection has ended. */
  close(): void {
    const { onClose } = this;
    if (this.#leave() === undefined) return;
    this.#observed?.answered(NO_MESSAGE, 0, SOURCE.NONE, undefined);
    onClose?.();
  }

  #leave(): TcpConnection | undefined {
    const connection = this.#connection;
    this.#connection = this.onDrain = this.onClose = undefined;
    return connection;
  }
}

/** Time for queries over TCP in one turn of the event loop: after it, datagrams are received. */
const TURN_MS = 2;
/** What all clients together may leave unread, until each has the minimum. */
const ALL_UNSENT_BYTES = 16 * 1024 * 1024;
const MIN_UNSENT_BYTES = 16 * 1024;
const MAX_UNSENT_BYTES = 256 * 1024;
/** Memory for all clients together: what they sent and what they have to read. */
const ALL_HELD_BYTES = 16 * 1024 * 1024;

/** Reads on when it is its turn. */
export interface Reading {
  readOn(): void;
}

/**
 * What the connections of one listener share, so that no number of them takes the event loop or the
 * memory from others: the time of each turn of the loop, and the bytes of answers that wait for clients.
 */
export class TcpShares {
  /** Connections that share. */
  connections = 0;
  /** Bytes held for all of them. */
  heldBytes = 0;
  /** In order of their turn: those of which nothing that came is answered yet, */
  readonly #first = new Set<Reading>();
  /** and those that continue. They take turns: one that asks little does not wait for all that ask much. */
  readonly #again = new Set<Reading>();
  #isForFirst = false;
  /** See `TcpServerOwner`. */
  needsLoop = false;
  readonly #now: () => number;
  #isCounting = false;
  /** The engine says when a turn begins. */
  #hasTurns = false;
  #isTurnDue = false;
  #endMs = 0;
  readonly #next = (): void => this.#turn();

  /** `now`: milliseconds that never fall. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Reading from a client stops while it leaves more bytes than this unread. */
  get unsentBytes(): number {
    const share = ALL_UNSENT_BYTES / Math.max(1, this.connections);
    return Math.min(MAX_UNSENT_BYTES, Math.max(MIN_UNSENT_BYTES, share));
  }

  /** Whether all together hold so much that connections must be cut off. */
  isTooMuch(): boolean {
    return this.heldBytes > ALL_HELD_BYTES;
  }

  /** See `TcpServerOwner.onTurn`. */
  beginTurn(): void {
    this.#hasTurns = true;
    this.#isCounting = this.needsLoop = false;
  }

  /** Whether there is time for one more query in this turn of the loop. */
  hasTime(): boolean {
    const nowMs = this.#now();
    if (!this.#isCounting) {
      this.#isCounting = true;
      this.#endMs = nowMs + TURN_MS;
      if (!this.#hasTurns) this.#turnLater();
    }
    return nowMs < this.#endMs;
  }

  /** Lets a connection begin or continue in a later turn. */
  wait(reading: Reading, continues: boolean): void {
    if (continues || this.#again.has(reading)) this.#again.add(reading);
    else this.#first.add(reading);
    this.#turnLater();
  }

  /** The connection is closed and waits no longer. */
  leave(reading: Reading): void {
    this.#first.delete(reading);
    this.#again.delete(reading);
  }

  #turnLater(): void {
    this.needsLoop = true;
    if (this.#isTurnDue) return;
    this.#isTurnDue = true;
    setImmediate(this.#next);
  }

  #turn(): void {
    this.#isTurnDue = this.#isCounting = false;
    while (this.#first.size + this.#again.size > 0) {
      if (!this.hasTime()) {
        this.#turnLater();
        return;
      }
      this.#isForFirst = this.#again.size === 0 || (!this.#isForFirst && this.#first.size > 0);
      const [reading] = this.#isForFirst ? this.#first : this.#again;
      this.leave(reading!);
      reading!.readOn();
    }
  }
}
