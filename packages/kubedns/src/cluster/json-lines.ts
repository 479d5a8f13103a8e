import { JsonText } from './json-text.js';

const NEWLINE = 0x0a;

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
   * StreamError (`garbled`) for a line that is not JSON.
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
  }
}
