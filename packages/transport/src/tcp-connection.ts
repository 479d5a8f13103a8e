import type { Socket } from 'node:net';
import { MAX_MESSAGE_BYTES, unmappedAddress } from '@kube-dns/wire';
import type { RetainedQuery } from './answer-observer.js';
import { type AnswerSource, SOURCE } from './answer-source.js';
import type { AddressedClient, ReplyPath } from './answerer.js';
import { copyAddress } from './copy-address.js';
import { type AnswerCookie, withRoom } from './cookies/answer-cookie.js';
import { frameMessage, FrameReader } from './frame-reader.js';
import type { MessageHandler } from './message-handler.js';
import type { ServerAddress } from './server-address.js';
import type { Session } from './session.js';
import type { Reading, TcpShares } from './tcp-shares.js';

const NO_MESSAGE = new Uint8Array(0);
/** This many queries of one connection may wait for an answer; the next is read when one is answered. */
const MAX_DEFERRED = 100;
/** This many queries of one connection are answered before the others' turn. */
const MAX_PER_TURN = 8;
/** The buffer that answers are written to; sending copies them. */
const out = new Uint8Array(MAX_MESSAGE_BYTES);
/**
 * Deferred answers arrive whether the client reads or not. Reading from it stops at `unsentBytes`; beyond
 * this many times that number the connection is cut off.
 */
const CUT_OFF_FACTOR = 4;
/** A connection that has to end is ended when its client has sent nothing for this long, */
const PAUSE_MS = 50;
/** or, if the client never pauses, after this time when no answer is due. */
const LAST_QUERY_MS = 1_000;

/**
 * One client over TCP: several queries on a connection, each answered as soon as its answer is ready
 * (RFC 7766 section 6.2.1.1). Reading stops while too many answers are due or unread.
 */
export class TcpConnection implements AddressedClient, Reading, Session {
  readonly address: string;
  readonly port: number;
  readonly #socket: Socket;
  readonly #handler: MessageHandler;
  readonly #shares: TcpShares;
  readonly #onCut: () => void;
  readonly #frames = new FrameReader();
  /** The bytes counted for it in the shares. */
  #heldBytes = 0;
  #deferred = 0;
  #hasEnded = false;
  /** An empty message ended it, as in dnsmasq (src/forward.c, tcp_request): nothing more is read. */
  #isOver = false;
  #isEnding = false;
  #isReading = false;
  #stays = false;
  readonly #readOn = (): void => this.readOn();

  /** `onCut` is called when it is cut off because all connections together use too much memory. */
  constructor(socket: Socket, handler: MessageHandler, shares: TcpShares, onCut: () => void) {
    this.#socket = socket;
    this.#handler = handler;
    this.#shares = shares;
    this.#onCut = onCut;
    shares.connections++;
    socket.on('close', () => {
      shares.connections--;
      this.#hold(0);
      shares.leave(this);
    });
    this.address = unmappedAddress(socket.remoteAddress ?? '');
    this.port = socket.remotePort ?? 0;
    socket.on('data', (chunk) => {
      if (socket.writableEnded || this.#isOver) return;
      this.#frames.push(chunk);
      this.readOn();
    });
    socket.on('drain', () => this.readOn());
    socket.on('end', () => {
      this.#hasEnded = true;
      this.readOn();
    });
  }

  /** Whether a query of this connection still waits for its answer, or it is a session that stays. */
  isBusy(): boolean {
    return this.#deferred > 0 || this.#stays;
  }

  get unsentBytes(): number {
    return this.#socket.writableLength;
  }

  stay(): void {
    this.#stays = true;
    this.#socket.setTimeout(0);
  }

  push(message: Uint8Array): void {
    this.#send(message, message.length);
    this.#account();
  }

  close(): void {
    this.#socket.destroy();
  }

  onClose(listener: () => void): void {
    this.#socket.on('close', listener);
  }

  copyAddress(to: Uint8Array, at: number): number {
    return copyAddress(this.address, to, at);
  }

  answersFrom(source: AnswerSource): void {
    this.#handler.source = source;
  }

  defer(): ReplyPath {
    this.#deferred++;
    const { query, retainedCookie } = this.#handler;
    const observed = this.#handler.retainObserved();
    return new TcpReplyPath(this, query.maxAnswerBytes, retainedCookie, observed);
  }

  /** Sends a deferred answer, fitted to its client's size (nothing when `length` is 0), and continues to read; returns its length. */
  finish(message: Uint8Array, length: number, maxBytes: number, cookie: AnswerCookie): number {
    this.#deferred--;
    // Not immediately: the answerer may be in the middle of sending replies, or inside `answer`.
    process.nextTick(this.#readOn);
    if (length === 0) return 0;
    const fitted = this.#handler.fit(message, length, maxBytes, cookie);
    this.#send(message, fitted);
    return fitted;
  }

  /**
   * Ends the connection when the client pauses; resolves when its queries are answered and the system has
   * the answers. What the client sends later is read and dropped: unread bytes would make the system reset
   * the connection, and the client could lose answers that it has not read yet.
   */
  async end(): Promise<void> {
    const ended = new Promise((resolve) => {
      this.#socket.on('finish', resolve).on('close', resolve);
    });
    const end = () => {
      this.#isEnding = true;
      this.readOn();
    };
    const pause = setTimeout(end, PAUSE_MS);
    const latest = setTimeout(end, LAST_QUERY_MS);
    this.#socket.on('data', () => pause.refresh());
    await ended;
    clearTimeout(pause);
    clearTimeout(latest);
  }

  /** Answers the received queries, as far as this connection's turn allows. */
  readOn(): void {
    if (this.#isReading || this.#socket.destroyed) return;
    this.#isReading = true;
    let isStarved = this.#isOver;
    let left = MAX_PER_TURN;
    while (!isStarved && this.#mayRead()) {
      const message = left > 0 && this.#shares.hasTime() ? this.#frames.next() : null;
      if (message === null) {
        this.#shares.wait(this);
        break;
      }
      this.#isOver = message?.length === 0;
      isStarved = message === undefined || this.#isOver;
      if (message === undefined || this.#isOver) break;
      left--;
      if (this.#handler.handleSession(message, this)) continue;
      const length = this.#handler.handle(message, message.length, true, this, out);
      if (length > 0) this.#send(out, length);
    }
    this.#isReading = false;
    const isLast = this.#hasEnded || this.#isEnding || this.#isOver;
    if (isStarved && isLast && this.#deferred === 0) this.#socket.end();
    if (isStarved) this.#socket.resume();
    else this.#socket.pause();
    this.#account();
  }

  #account(): void {
    const held = this.#frames.heldBytes + this.#socket.writableLength;
    this.#hold(held);
    if (!this.#shares.isTooMuch(held)) return;
    this.#hold(0);
    this.#onCut();
    this.#socket.destroy();
  }

  #hold(bytes: number): void {
    this.#shares.heldBytes += bytes - this.#heldBytes;
    this.#heldBytes = bytes;
  }

  #mayRead(): boolean {
    const { writableLength } = this.#socket;
    return this.#deferred < MAX_DEFERRED && writableLength < this.#shares.unsentBytes;
  }

  #send(message: Uint8Array, length: number): void {
    const socket = this.#socket;
    if (!socket.writable) return;
    if (socket.writableLength > CUT_OFF_FACTOR * this.#shares.unsentBytes) socket.destroy();
    else socket.write(frameMessage(message, length));
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
