import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, createReadStream, openSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Closable, TemporaryFolder } from '@kube-dns/testkit';

/** What was read of a log since the last time. */
export interface ReadLines {
  readonly lines: number;
  /** Lines that are no JSON. */
  readonly broken: number;
}

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

  /** Counts the lines that it has, and forgets them; none may come meanwhile. */
  async take(): Promise<ReadLines> {
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

  async close(): Promise<void> {
    const ended = once(this.#child, 'exit');
    if (this.#child.exitCode === null && this.#child.kill('SIGKILL')) await ended;
    await this.#folder.close();
  }
}
