import { StreamError } from '../errors.js';
import { JsonText } from './json-text.js';

const NEWLINE = 0x0a;
/** A longer line is passed over no further: it may never end. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** Splits a stream of bytes at newlines, and parses each line as JSON. */
export class LineReader {
  readonly #line: JsonText;

  constructor(maxLineBytes?: number) {
    this.#line = new JsonText('a line', maxLineBytes);
  }

  /** Bytes after the last newline: at the end of the stream they are a cut line. */
  get pendingBytes(): number {
    return this.#line.bytes;
  }

  /**
   * Yields the lines that end in this chunk, without blank ones; Unread for one that is too large. Throws a
   * StreamError (`garbled`) for a line that is not JSON, and for one above 64 MiB before its end.
   */
  *push(chunk: Buffer): Generator {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#line.add(chunk.subarray(start, end));
      start = end + 1;
      const value = this.#line.take();
      if (value !== undefined) yield value;
    }
    if (start < chunk.length) this.#line.add(chunk.subarray(start));
    if (this.#line.bytes <= MAX_LINE_BYTES) return;
    throw new StreamError('garbled', `a line has more than ${MAX_LINE_BYTES} bytes`);
  }
}
