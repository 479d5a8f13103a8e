import { spawn, type ChildProcess } from 'node:child_process';
import { waitFor } from '../../../cli/test/support/wait-for.js';

/** A program of this machine that runs until it is told to end. */
export class RunningProgram {
  output = '';
  /** When it is gone and all its output was read. */
  readonly ended: Promise<unknown>;
  readonly #child: ChildProcess;

  constructor([file = '', ...args]: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const child = spawn(file, args, { env: { ...process.env, NODE_OPTIONS: '', ...env } });
    const collect = (chunk: Buffer): void => {
      this.output += chunk.toString();
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.on('error', (error) => (this.output += String(error)));
    this.#child = child;
    this.ended = new Promise((resolve) => child.once('close', resolve));
  }

  /** Waits until the pattern is in the output; gives its first group, or the whole match. */
  saw(pattern: RegExp): Promise<string> {
    const what = () => `${pattern} in:\n${this.output}`;
    return waitFor(what, () => {
      const match = pattern.exec(this.output);
      return match === null ? undefined : (match[1] ?? match[0]);
    });
  }

  /** Ends it with a signal and waits until it is gone. */
  async close(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (!this.hasEnded) this.#child.kill(signal);
    await this.ended;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}
