import type { IncomingMessage } from 'node:http';
import { errorText } from '@kube-dns/daemon';
import { StreamError } from '../errors.js';

/** A piece of a body, and when it arrived by `performance.now()`. */
export interface BodyChunk {
  readonly bytes: Buffer;
  readonly arrivedMs: number;
}

/**
 * So much may wait to be read; then the server has to wait. It is less than one read of the socket: what
 * waits outlives the young generation, and of 190 MB most would become garbage that is collected late.
 */
const MAX_WAITING_BYTES = 16 * 1024;

/**
 * The body of an answer, as it arrives. To be iterated once; leaving the loop early breaks the
 * connection. A body that breaks off throws what its signal was aborted with, or a StreamError.
 */
export class ApiBody implements AsyncIterable<BodyChunk> {
  readonly #response: IncomingMessage;
  readonly #signal: AbortSignal;
  readonly #waiting: BodyChunk[] = [];
  #waitingBytes = 0;
  #isEnded = false;
  #error: Error | undefined;
  #wake: () => void = () => undefined;
  #receivedBytes = 0;
  #lastByteMs = performance.now();

  constructor(response: IncomingMessage, signal: AbortSignal) {
    this.#response = response;
    this.#signal = signal;
    response.on('data', (bytes: Buffer) => this.#take(bytes));
    response.on('end', () => {
      this.#isEnded = true;
      this.#wake();
    });
    response.on('error', (error) => this.#break(error));
    response.on('close', () => this.#break(new Error('the connection was closed')));
  }

  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  /** When the head or the last piece arrived, by `performance.now()`. */
  get lastByteMs(): number {
    return this.#lastByteMs;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<BodyChunk, void> {
    try {
      for (;;) {
        const chunk = this.#waiting.shift();
        if (chunk !== undefined) {
          this.#waitingBytes -= chunk.bytes.length;
          if (this.#response.isPaused() && this.#waitingBytes === 0) this.#response.resume();
          yield chunk;
          if (this.#signal.aborted) throw this.#signal.reason as Error;
        } else if (this.#isEnded) {
          return;
        } else if (this.#error !== undefined) {
          throw this.#error;
        } else {
          await new Promise<void>((resolve) => (this.#wake = resolve));
        }
      }
    } finally {
      if (!this.#isEnded) this.#response.destroy();
    }
  }

  #take(bytes: Buffer): void {
    const arrivedMs = performance.now();
    this.#lastByteMs = arrivedMs;
    this.#receivedBytes += bytes.length;
    this.#waiting.push({ bytes, arrivedMs });
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes >= MAX_WAITING_BYTES) this.#response.pause();
    this.#wake();
  }

  #break(cause: Error): void {
    if (this.#isEnded || this.#error !== undefined) return;
    this.#error = this.#signal.aborted
      ? (this.#signal.reason as Error)
      : new StreamError('closed', `the connection broke: ${errorText(cause)}`, { cause });
    this.#wake();
  }
}
