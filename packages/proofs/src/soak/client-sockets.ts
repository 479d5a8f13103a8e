import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { writeUint16 } from '@kube-dns/wire';
import type { Asking } from './question-mix.js';

/** A query whose answer is outstanding. */
export interface Waiting<A = Asking> {
  readonly asking: A;
  /** When the client wanted to know, and when this try was sent. */
  readonly firstSentMs: number;
  readonly sentMs: number;
  readonly tries: number;
}

export interface ClientSocketsOptions<A = Asking> {
  readonly port: number;
  readonly count: number;
  readonly timeoutMs: number;
  readonly onAnswer: (waiting: Waiting<A>, message: Buffer) => void;
  readonly onTimeout: (waiting: Waiting<A>) => void;
}

interface ClientSocket<A> {
  readonly socket: Socket;
  /** By ID, the oldest first. */
  readonly waiting: Map<number, Waiting<A>>;
  nextId: number;
}

const MAX_IDS = 0x1_0000;
const RENEWAL_MS = 1_000;
const RECEIVE_BYTES = 1024 * 1024;

/** The sockets of many clients of one server. Each second a new one replaces the oldest. */
export class ClientSockets<A = Asking> {
  readonly #options: ClientSocketsOptions<A>;
  #sockets: ClientSocket<A>[] = [];
  /** Replaced, but with answers outstanding. */
  #old: ClientSocket<A>[] = [];
  #turn = 0;
  #renewedMs = 0;
  #isClosed = false;

  private constructor(options: ClientSocketsOptions<A>) {
    this.#options = options;
  }

  static async open<A = Asking>(options: ClientSocketsOptions<A>): Promise<ClientSockets<A>> {
    const sockets = new ClientSockets<A>(options);
    for (let i = 0; i < options.count; i++) await sockets.#add();
    return sockets;
  }

  send(query: Buffer, waiting: Waiting<A>): void {
    const to = this.#sockets[this.#turn++ % this.#sockets.length]!;
    while (to.waiting.has(to.nextId)) to.nextId = (to.nextId + 1) % MAX_IDS;
    const id = to.nextId;
    to.nextId = (id + 1) % MAX_IDS;
    writeUint16(query, 0, id);
    to.waiting.set(id, waiting);
    to.socket.send(query, () => undefined);
  }

  /** Ends queries after their time-out, and replaces the oldest socket once a second. */
  sweep(nowMs: number): void {
    const { timeoutMs, onTimeout } = this.#options;
    for (const { waiting } of [...this.#sockets, ...this.#old]) {
      for (const [id, one] of waiting) {
        if (nowMs - one.sentMs < timeoutMs) break;
        waiting.delete(id);
        onTimeout(one);
      }
    }
    this.#old = this.#old.filter((old) => {
      if (old.waiting.size === 0) old.socket.close();
      return old.waiting.size > 0;
    });
    if (nowMs - this.#renewedMs < RENEWAL_MS) return;
    this.#renewedMs = nowMs;
    void this.#add().then(() => this.#old.push(...this.#sockets.splice(0, 1)));
  }

  close(): void {
    this.#isClosed = true;
    for (const { socket } of [...this.#sockets, ...this.#old]) socket.close();
    this.#sockets = this.#old = [];
  }

  async #add(): Promise<void> {
    const socket = createSocket({ type: 'udp4', recvBufferSize: RECEIVE_BYTES });
    const waiting = new Map<number, Waiting<A>>();
    socket.on('message', (message) => {
      const id = message.length < 2 ? -1 : message.readUInt16BE(0);
      const asked = waiting.get(id);
      if (asked === undefined) return;
      waiting.delete(id);
      this.#options.onAnswer(asked, message);
    });
    // "Connection refused" counts as no answer: the time-out handles it.
    socket.on('error', () => undefined);
    socket.connect(this.#options.port, '127.0.0.1');
    await once(socket, 'connect');
    if (this.#isClosed) socket.close();
    else this.#sockets.push({ socket, waiting, nextId: 0 });
  }
}
