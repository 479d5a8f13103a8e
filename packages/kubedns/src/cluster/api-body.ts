import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { errorText } from '@kube-dns/base';
import { StreamError } from '../errors.js';
import { shownValue } from './shown-value.js';

/** A piece of a body, decompressed, and when it arrived by `performance.now()`. */
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
 * The size of a decompressed piece. Each is a turn of the thread pool: at 16 KiB the 145 MB of 50,000 slices
 * take a fifth more CPU time. It is also all that a stream which expands a thousandfold gets at a time.
 */
const PIECE_BYTES = 64 * 1024;

/**
 * The body of an answer as a stream, decompressed where the server compressed it. Iterate it once; leaving the
 * loop early closes the connection. An incomplete body throws the abort reason of its signal, or a StreamError.
 */
export class ApiBody implements AsyncIterable<BodyChunk> {
  readonly #content: Readable;
  readonly #signal: AbortSignal;
  readonly #buffered: BodyChunk[] = [];
  #bufferedBytes = 0;
  #isEnded = false;
  #error: Error | undefined;
  #wake: () => void = () => undefined;
  #receivedBytes = 0;
  #contentBytes = 0;
  #lastByteMs = performance.now();

  /** Throws a StreamError (`garbled`) for a compression that was not asked for. */
  constructor(response: IncomingMessage, signal: AbortSignal) {
    this.#signal = signal;
    const content = (this.#content = contentOf(response));
    response.on('data', (bytes: Buffer) => this.#note(bytes));
    content.on('data', (bytes: Buffer) => this.#take(bytes));
    content.on('end', () => {
      this.#isEnded = true;
      this.#wake();
    });
    content.on('error', (error) => this.#break(error));
    content.on('close', () => this.#break(new Error('the connection was closed')));
  }

  /** As the server sent them, possibly compressed. */
  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  /** Decompressed. */
  get contentBytes(): number {
    return this.#contentBytes;
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
          if (this.#content.isPaused() && this.#bufferedBytes === 0) this.#content.resume();
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
      if (!this.#isEnded) this.#content.destroy();
    }
  }

  #note(bytes: Buffer): void {
    this.#lastByteMs = performance.now();
    this.#receivedBytes += bytes.length;
  }

  #take(bytes: Buffer): void {
    this.#contentBytes += bytes.length;
    this.#buffered.push({ bytes, arrivedMs: this.#lastByteMs });
    this.#bufferedBytes += bytes.length;
    if (this.#bufferedBytes >= MAX_BUFFERED_BYTES) this.#content.pause();
    this.#wake();
  }

  #break(cause: Error): void {
    if (this.#isEnded || this.#error !== undefined) return;
    this.#error = this.#signal.aborted ? (this.#signal.reason as Error) : streamError(cause);
    this.#wake();
  }
}

function streamError(cause: NodeJS.ErrnoException): StreamError {
  // Those of zlib, as Z_DATA_ERROR; a body that ends before its gzip stream, too.
  return cause.code?.startsWith('Z_') === true
    ? new StreamError('garbled', `the answer is not gzip: ${cause.message}`, { cause })
    : new StreamError('closed', `the connection broke: ${errorText(cause)}`, { cause });
}

/** The body as a stream of what was compressed. */
function contentOf(response: IncomingMessage): Readable {
  const encoding = response.headers['content-encoding'] ?? 'identity';
  switch (encoding.toLowerCase()) {
    case 'identity':
      return response;
    case 'gzip': {
      const gunzip = createGunzip({ chunkSize: PIECE_BYTES });
      return pipeline(response, gunzip, () => undefined);
    }
    default: {
      response.destroy();
      const reason = `the answer has the content encoding ${shownValue(encoding)}`;
      throw new StreamError('garbled', reason);
    }
  }
}
