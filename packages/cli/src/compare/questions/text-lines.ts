import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { reasonOf } from '../../errors.js';
import { LineSplitter } from '../../up/log-lines.js';
import { refusal } from '../refusal.js';

/** The lines of a file (`-` is stdin), read piece by piece; throws a refusal that names it. */
export async function* textLines(
  what: string,
  file: string,
  stdin: Readable,
): AsyncGenerator<string> {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line));
  const input = file === '-' ? stdin : createReadStream(file);
  try {
    for await (const chunk of input) {
      splitter.push(chunk as Buffer);
      yield* lines.splice(0);
    }
  } catch (cause) {
    throw refusal(`cannot read the ${what} ${file}: ${reasonOf(cause)}`, { cause });
  }
  splitter.end();
  yield* lines;
}
