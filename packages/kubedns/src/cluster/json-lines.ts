import { errorText } from '@kube-dns/daemon';
import { StreamError } from '../errors.js';

const NEWLINE = 0x0a;

/** More than any object of the API may have (etcd stops at 1.5 MiB), so a larger line is not one. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

/** Splits a stream of bytes at newlines, and parses each line as JSON. */
export class LineReader {
  readonly #maxLineBytes: number;
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  constructor(maxLineBytes = MAX_LINE_BYTES) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** Bytes after the last newline: at the end of the stream they are a cut line. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /**
   * Yields the lines that end in this chunk, without empty ones. Throws a StreamError (`garbled`) for a line
   * that is not JSON or too long.
   */
  *push(chunk: Buffer): Generator {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#append(chunk.subarray(start, end));
      const [line] = this.#pending.length === 1 ? this.#pending : [Buffer.concat(this.#pending)];
      this.#pending = [];
      this.#pendingBytes = 0;
      start = end + 1;
      if (line!.length > 0) yield parseLine(line!);
    }
    if (start < chunk.length) this.#append(chunk.subarray(start));
  }

  #append(piece: Buffer): void {
    this.#pending.push(piece);
    this.#pendingBytes += piece.length;
    if (this.#pendingBytes <= this.#maxLineBytes) return;
    throw new StreamError('garbled', `a line exceeds ${this.#maxLineBytes} bytes`);
  }
}

function parseLine(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch (cause) {
    throw new StreamError('garbled', `a line is not JSON: ${errorText(cause)}`, { cause });
  }
}
