import { Writable } from 'node:stream';
import { LineSplitter } from './log-lines.js';

/** ANSI colours for the prefixes, in rotation; red is reserved for errors. */
const COLOURS = [36, 33, 32, 35, 34, 96, 93, 92, 95, 94] as const;

/** The name before our own lines. */
export const OWN_NAME = 'kube-dns';

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
