import { setTimeout as delay } from 'node:timers/promises';
import { unmappedAddress } from '@kube-dns/wire';
import type { RetainedQuery } from './answer-observer.js';
import { type AnswerSource, SOURCE } from './answer-source.js';
import type { AddressedClient, ReplyPath } from './answerer.js';
import { type AnswerCookie, withRoom } from './cookies/answer-cookie.js';
import type { DatagramSocket, Peer } from './datagram-socket.js';
import type { MessageHandler } from './message-handler.js';
import { requireReusePort } from './reuse-port.js';
import type { ServerAddress } from './server-address.js';

const NO_MESSAGE = new Uint8Array(0);
const NO_PEER: Peer = { address: '', port: 0 };
/** A socket is empty when nothing arrived in this many rounds; each round is several turns of the loop. */
const IDLE_ROUNDS = 2;
const ROUND_MS = 10;

/** Passes the datagrams of one socket to a handler and sends the answers. */
export class UdpListener implements AddressedClient {
  readonly #socket: DatagramSocket;
  readonly #handler: MessageHandler;
  #peer = NO_PEER;
  /** Datagrams received, and queries among them that wait for their answers. */
  #received = 0;
  #waiting = 0;

  constructor(socket: DatagramSocket, handler: MessageHandler) {
    this.#socket = socket;
    this.#handler = handler;
  }

  get boundPort(): number {
    return this.#socket.port;
  }

  get port(): number {
    return this.#peer.port;
  }

  get address(): string {
    return unmappedAddress(this.#peer.address);
  }

  copyAddress(to: Uint8Array, at: number): number {
    return this.#socket.copyAddress(this.#peer, to, at);
  }

  answersFrom(source: AnswerSource): void {
    this.#handler.source = source;
  }

  async open(address: string, port: number, reusesPort = false): Promise<void> {
    if (reusesPort) requireReusePort();
    const socket = this.#socket;
    const onDatagram = (bytes: Uint8Array, length: number, peer: Peer) => {
      this.#received++;
      // Nothing can be sent to port 0: such a source is forged.
      if (peer.port === 0) return;
      this.#peer = peer;
      const { out } = socket;
      const answerLength = this.#handler.handle(bytes, length, false, this, out);
      if (answerLength > 0) socket.send(out, answerLength, peer);
    };
    await socket.open(address, port, onDatagram, reusesPort);
  }

  defer(spare?: ReplyPath): ReplyPath {
    this.#waiting++;
    const { query, retainedCookie } = this.#handler;
    const peer = this.#socket.retain(this.#peer);
    const observed = this.#handler.retainObserved();
    const path = spare instanceof UdpReplyPath && spare.hasEnded ? spare : new UdpReplyPath();
    path.begin(this, peer, query.maxAnswerBytes, retainedCookie, observed);
    return path;
  }

  /** For a reply path: see `ReplyPath.out`. */
  get deferredOut(): Uint8Array | undefined {
    return this.#socket.deferredOut;
  }

  /** For a reply path: fits the answer to its client's size, and sends it; returns its length. */
  send(message: Uint8Array, length: number, maxBytes: number, cookie: AnswerCookie, peer: Peer) {
    const fitted = this.#handler.fit(message, length, maxBytes, cookie);
    this.#socket.send(message, fitted, peer);
    return fitted;
  }

  /** For a reply path: its answer is sent or abandoned. */
  release(peer: Peer): void {
    this.#waiting--;
    this.#socket.release(peer);
  }

  /**
   * Leaves the port to its other sockets, and resolves when all datagrams in the socket are received and
   * answered, or at the deadline.
   */
  async leave(deadlineMs: number): Promise<void> {
    this.#socket.leavePort();
    for (let idle = 0; idle < IDLE_ROUNDS && performance.now() < deadlineMs;) {
      const received = this.#received;
      await delay(ROUND_MS);
      idle = this.#received === received && this.#waiting === 0 ? idle + 1 : 0;
    }
  }

  close(): Promise<void> {
    return this.#socket.close();
  }
}

class UdpReplyPath implements ReplyPath {
  #listener!: UdpListener;
  #maxBytes = 0;
  #cookie: AnswerCookie;
  /** Undefined once the answer is sent or abandoned. */
  #peer: Peer | undefined;
  #observed: RetainedQuery | undefined;

  get hasEnded(): boolean {
    return this.#peer === undefined;
  }

  /** The way back to a client; the one before has ended. */
  begin(
    listener: UdpListener,
    peer: Peer,
    maxBytes: number,
    cookie: AnswerCookie,
    observed: RetainedQuery | undefined,
  ): void {
    this.#listener = listener;
    this.#peer = peer;
    this.#maxBytes = maxBytes;
    this.#cookie = cookie;
    this.#observed = observed;
  }

  get out(): Uint8Array | undefined {
    return this.#listener.deferredOut;
  }

  get address(): string {
    return unmappedAddress(this.#peer?.address ?? '');
  }

  get port(): number {
    return this.#peer?.port ?? 0;
  }

  send(
    message: Uint8Array,
    length: number,
    source: AnswerSource = SOURCE.LOCAL,
    server?: ServerAddress,
  ): void {
    const peer = this.#release();
    if (peer === undefined) return;
    const answer = withRoom(message, length, this.#cookie);
    const sent = this.#listener.send(answer, length, this.#maxBytes, this.#cookie, peer);
    this.#listener.release(peer);
    this.#observed?.answered(answer, sent, source, server);
  }

  abandon(): void {
    const peer = this.#release();
    if (peer === undefined) return;
    this.#listener.release(peer);
    this.#observed?.answered(NO_MESSAGE, 0, SOURCE.NONE, undefined);
  }

  #release(): Peer | undefined {
    const peer = this.#peer;
    this.#peer = undefined;
    return peer;
  }
}
