import { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** ANSI colours for the prefixes, in rotation; red is reserved for errors. */
const COLOURS = [36, 33, 32, 35, 34, 96, 93, 92, 95, 94] as const;

/** The name before our own lines. */
const OWN_NAME = 'kube-dns';

/** Whether prefixes are coloured: FORCE_COLOR decides, then NO_COLOR, then whether it is a TTY. */
export function wantsColours(
  env: Readonly<Record<string, string | undefined>>,
  isTty: boolean,
): boolean {
  const force = env.FORCE_COLOR;
  if (force !== undefined) return force !== '0' && force !== 'false';
  return isTty && (env.NO_COLOR ?? '') === '';
}

/**
 * The common log of the pod: lines of all containers on one stream, each after its container's name. When
 * the stream is full, the containers' pipes are not read until it has drained.
 */
export class LogOutput {
  readonly #out: Writable;
  readonly #prefixes: ReadonlyMap<string, string>;
  #onDrain: (() => void)[] = [];

  constructor(out: Writable, names: readonly string[], colours: boolean) {
    this.#out = out;
    const width = Math.max(OWN_NAME.length, ...names.map((name) => name.length));
    this.#prefixes = new Map(
      [OWN_NAME, ...names].map((name, index) => {
        const text = `${name.padEnd(width)} |`;
        const colour = name === OWN_NAME ? 1 : COLOURS[(index - 1) % COLOURS.length];
        return [name, colours ? `\u001b[${colour}m${text}\u001b[0m` : text];
      }),
    );
    out.on('drain', this.#drained);
    out.on('close', this.#drained);
  }

  /** Writes one line of our own. */
  say(text: string): void {
    this.#write(OWN_NAME, text);
  }

  /** Writes lines without a prefix, for the user to copy. */
  block(lines: readonly string[]): void {
    if (!this.#out.destroyed) this.#out.write(`\n${lines.join('\n')}\n\n`);
  }

  /** A stream for one output of a container; `onLine` also receives each line. */
  sink(name: string, onLine: (line: string) => void): Writable {
    const splitter = new LineSplitter((line) => {
      onLine(line);
      this.#write(name, line);
    });
    return new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        splitter.push(chunk);
        this.#whenWritable(done);
      },
      final: (done) => {
        splitter.end();
        done();
      },
    });
  }

  /** Removes the listeners; the stream stays open. */
  close(): void {
    this.#out.off('drain', this.#drained);
    this.#out.off('close', this.#drained);
    this.#drained();
  }

  #write(name: string, text: string): void {
    if (this.#out.destroyed) return; // the reader of our log has gone; up() stops the pod
    this.#out.write(`${this.#prefixes.get(name) ?? name} ${text}\n`);
  }

  #whenWritable(done: () => void): void {
    if (this.#out.writableNeedDrain && !this.#out.destroyed) this.#onDrain.push(done);
    else done();
  }

  readonly #drained = (): void => {
    const waiting = this.#onDrain;
    this.#onDrain = [];
    for (const done of waiting) done();
  };
}

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
