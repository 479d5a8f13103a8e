import type { Socket } from 'node:net';
import { MAX_MESSAGE_BYTES } from '@kube-dns/wire';
import type { Client, ReplyPath } from './answerer.js';
import { frameMessage, FrameReader } from './frame-reader.js';
import type { MessageHandler } from './message-handler.js';
import type { Reading, TcpShares } from './tcp-shares.js';

/** As many queries of one connection may wait for an answer; the next is read when one is done. */
const MAX_DEFERRED = 100;
/** As many queries of one connection are answered before others have their turn. */
const MAX_PER_TURN = 8;
/** Where answers are written; what is sent is copied. */
const out = new Uint8Array(MAX_MESSAGE_BYTES);
/**
 * Deferred answers come whether the client reads or not; beyond so many times the bytes at which it is
 * read from no further it is cut off.
 */
const CUT_OFF_FACTOR = 4;

/**
 * One client over TCP: several queries on a connection, each answered as soon as its answer is there
 * (RFC 7766 section 6.2.1.1). Reading stops while the client owes us reading or we owe it answers.
 */
export class TcpConnection implements Client, Reading {
  readonly address: string;
  readonly port: number;
  readonly #socket: Socket;
  readonly #handler: MessageHandler;
  readonly #shares: TcpShares;
  readonly #onCut: () => void;
  readonly #frames = new FrameReader();
  /** As the shares know it. */
  #heldBytes = 0;
  #deferred = 0;
  #hasEnded = false;
  #isEnding = false;
  #isReading = false;
  readonly #readOn = (): void => this.readOn();

  /** `onCut` is told when it is cut off because all connections together hold too much. */
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
    this.address = socket.remoteAddress ?? '';
    this.port = socket.remotePort ?? 0;
    socket.on('data', (chunk) => {
      this.#frames.push(chunk);
      this.readOn();
    });
    socket.on('drain', () => this.readOn());
    socket.on('end', () => {
      this.#hasEnded = true;
      this.readOn();
    });
  }

  /** Tells whether a query of this connection still waits for its answer. */
  isBusy(): boolean {
    return this.#deferred > 0;
  }

  defer(): ReplyPath {
    this.#deferred++;
    return new TcpReplyPath(this);
  }

  /** Sends a deferred answer (nothing when `length` is 0) and goes on reading. */
  finish(message: Uint8Array, length: number): void {
    this.#deferred--;
    if (length > 0) this.#send(message, this.#handler.fit(message, length, MAX_MESSAGE_BYTES));
    // Not at once: the answerer may be in the middle of handing out replies, or inside `answer`.
    process.nextTick(this.#readOn);
  }

  /** Reads no further; resolves when what was read is answered and the answers are with the system. */
  async end(): Promise<void> {
    const ended = new Promise((resolve) => {
      this.#socket.on('finish', resolve).on('close', resolve);
    });
    this.#isEnding = true;
    this.readOn();
    await ended;
  }

  /** Answers what has come, as far as it is this connection's turn. */
  readOn(): void {
    if (this.#isReading || this.#socket.destroyed) return;
    this.#isReading = true;
    let isStarved = false;
    let left = MAX_PER_TURN;
    while (this.#mayRead()) {
      const message = left > 0 && this.#shares.hasTime() ? this.#frames.next() : null;
      if (message === null) {
        this.#shares.wait(this);
        break;
      }
      if (message === undefined) {
        isStarved = true;
        break;
      }
      left--;
      const length = this.#handler.handle(message, message.length, true, this, out);
      if (length > 0) this.#send(out, length);
    }
    this.#isReading = false;
    const isLast = this.#hasEnded || this.#isEnding;
    if (isStarved && isLast && this.#deferred === 0) this.#socket.end();
    else if (isStarved && !this.#isEnding) this.#socket.resume();
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

  constructor(connection: TcpConnection) {
    this.address = connection.address;
    this.port = connection.port;
    this.#connection = connection;
  }

  send(message: Uint8Array, length: number): void {
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.finish(message, length);
  }

  abandon(): void {
    this.send(new Uint8Array(0), 0);
  }
}
