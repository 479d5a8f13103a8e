import type { IncomingMessage } from 'node:http';
import { errorText } from '@kube-dns/daemon';
import { StreamError } from '../errors.js';

/** A piece of a body, and when it arrived by `performance.now()`. */
export interface BodyChunk {
  readonly bytes: Buffer;
  readonly arrivedMs: number;
}

/**
 * Bytes that may be buffered before the server has to wait. Less than one read of the socket: buffered data
 * outlives the young generation, and most of 190 MB would become garbage that is collected late.
 */
const MAX_BUFFERED_BYTES = 16 * 1024;

/**
 * The body of an answer as a stream. Iterate it once; leaving the loop early closes the connection. An
 * incomplete body throws the abort reason of its signal, or a StreamError.
 */
export class ApiBody implements AsyncIterable<BodyChunk> {
  readonly #response: IncomingMessage;
  readonly #signal: AbortSignal;
  readonly #buffered: BodyChunk[] = [];
  #bufferedBytes = 0;
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
        const chunk = this.#buffered.shift();
        if (chunk !== undefined) {
          this.#bufferedBytes -= chunk.bytes.length;
          if (this.#response.isPaused() && this.#bufferedBytes === 0) this.#response.resume();
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
    this.#buffered.push({ bytes, arrivedMs });
    this.#bufferedBytes += bytes.length;
    if (this.#bufferedBytes >= MAX_BUFFERED_BYTES) this.#response.pause();
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
