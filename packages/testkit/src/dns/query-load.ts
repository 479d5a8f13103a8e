import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { Closable } from '../owned.js';
import { decodeMessage, encodeQuery } from './messages.js';

/** How many queries are in flight: they fit the buffers of a socket. */
const WINDOW = 16;
const IDS = 65_536;

/** A client that asks one name after the other, each once, and counts those without an answer. */
export class QueryLoad implements Closable {
  /** Answers so far, by their first record. */
  readonly answers = new Map<string, number>();
  readonly #socket: Socket = createSocket('udp4');
  readonly #port: number;
  readonly #nameOf: (serial: number) => string;
  readonly #waiting = new Set<number>();
  #asked = 0;
  #isStopped = false;
  #onAllAnswered: (() => void) | undefined;

  /** Asks the server at a port for the names that `nameOf` returns. */
  constructor(port: number, nameOf: (serial: number) => string) {
    this.#port = port;
    this.#nameOf = nameOf;
    this.#socket.on('message', (message) => this.#take(message));
    for (let i = 0; i < WINDOW; i++) this.#askNext();
  }

  get asked(): number {
    return this.#asked;
  }

  /** Queries without an answer so far. */
  get unanswered(): number {
    return this.#waiting.size;
  }

  /** Asks no more, and resolves when all have their answer. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#waiting.size > 0) await new Promise<void>((done) => (this.#onAllAnswered = done));
  }

  async close(): Promise<void> {
    this.#isStopped = true;
    this.#socket.close();
    await once(this.#socket, 'close');
  }

  #askNext(): void {
    const id = this.#asked % IDS;
    this.#waiting.add(id);
    const message = encodeQuery({ name: this.#nameOf(this.#asked++), id });
    this.#socket.send(message, this.#port, '127.0.0.1');
  }

  #take(message: Buffer): void {
    if (!this.#waiting.delete(message.readUInt16BE(0))) return;
    const { texts, rcode } = decodeMessage(message);
    const text = texts[0] ?? rcode;
    this.answers.set(text, (this.answers.get(text) ?? 0) + 1);
    if (!this.#isStopped) this.#askNext();
    else if (this.#waiting.size === 0) this.#onAllAnswered?.();
  }
}
