import { StringDecoder } from 'node:string_decoder';

/** The length, in UTF-16 units, at which a line is cut; container runtimes cut at 16 KiB as well. */
export const MAX_LINE_LENGTH = 16_384;

/**
 * Splits a byte stream into lines without their ends. A line longer than {@link MAX_LINE_LENGTH}
 * becomes pieces of that length, so that memory holds no more than one piece.
 */
export class LineSplitter {
  readonly #decoder = new StringDecoder('utf8');
  readonly #onLine: (line: string) => void;
  #pending = '';

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  push(chunk: Buffer): void {
    const pieces = this.#decoder.write(chunk).split('\n');
    const rest = pieces.pop() ?? '';
    for (const piece of pieces) {
      this.#append(piece);
      this.#onLine(this.#pending.replace(/\r$/, ''));
      this.#pending = '';
    }
    this.#append(rest);
  }

  /** Emits what arrived after the last line end. */
  end(): void {
    this.#append(this.#decoder.end());
    if (this.#pending !== '') this.#onLine(this.#pending);
    this.#pending = '';
  }

  #append(text: string): void {
    this.#pending += text;
    while (this.#pending.length > MAX_LINE_LENGTH) {
      this.#onLine(this.#pending.slice(0, MAX_LINE_LENGTH));
      this.#pending = this.#pending.slice(MAX_LINE_LENGTH);
    }
  }
}

const TAIL_LINES = 20;
const TAIL_LINE_LENGTH = 500;

/** The last lines that a container wrote, to say why it ended. */
export class LogTail {
  readonly #lines: string[] = [];

  push(line: string): void {
    this.#lines.push(line.slice(0, TAIL_LINE_LENGTH));
    if (this.#lines.length > TAIL_LINES) this.#lines.shift();
  }

  /**
   * The line that most likely holds the reason: the last one with words that is not part of a stack trace
   * or the runtime's version below it; empty when nothing was written.
   */
  reason(): string {
    const written = this.#lines.filter((line) => line.trim() !== '');
    const telling = written.findLast(
      (line) => /^\S/.test(line) && /[a-z]/i.test(line) && !line.startsWith('Node.js v'),
    );
    return (telling ?? written.at(-1) ?? '').trim();
  }
}
