import { Writable } from 'node:stream';

/** A stream that collects what is written to it. */
export class LogText extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString();
    done();
  }

  /** All that the first group of `pattern` (global) matched, in order. */
  all(pattern: RegExp): string[] {
    return [...this.text.matchAll(pattern)].map((match) => match[1] ?? '');
  }
}
