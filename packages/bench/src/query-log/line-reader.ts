import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, createReadStream, openSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { becomesTrue, type Closable, TemporaryFolder } from '@kube-dns/testkit';

/** What was read of a log since the last time. */
export interface ReadLines {
  readonly lines: number;
  /** Lines that are no JSON. */
  readonly broken: number;
}

const LINE_FEED = 0x0a;
const BEHIND_MS = 20_000;

/** A process that reads a pipe, as a container runtime does, into a file. */
export class LineReader implements Closable {
  readonly #folder = new TemporaryFolder();
  /** Where the program that is measured writes to. */
  readonly pipe = join(this.#folder.path, 'pipe');
  readonly #file = this.#folder.file('lines', '');
  readonly #child: ChildProcess;

  constructor() {
    execFileSync('mkfifo', [this.pipe]);
    const file = openSync(this.#file, 'a');
    this.#child = spawn('cat', [this.pipe], { stdio: ['ignore', file, 'ignore'] });
    closeSync(file);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /**
   * Counts the lines that it has, and forgets them; none may be written meanwhile. It has less CPU time than the program
   * that writes, so those in the pipe are waited for: as many as `expected`, if they come.
   */
  async take(expected: number): Promise<ReadLines> {
    await becomesTrue(() => this.#count() >= expected, { limitMs: BEHIND_MS });
    let [lines, broken] = [0, 0];
    for await (const line of createInterface({ input: createReadStream(this.#file) })) {
      lines++;
      try {
        JSON.parse(line);
      } catch {
        broken++;
      }
    }
    truncateSync(this.#file);
    return { lines, broken };
  }

  #count(): number {
    return readFileSync(this.#file).filter((byte) => byte === LINE_FEED).length;
  }

  async close(): Promise<void> {
    const ended = once(this.#child, 'exit');
    if (this.#child.exitCode === null && this.#child.kill('SIGKILL')) await ended;
    await this.#folder.close();
  }
}
