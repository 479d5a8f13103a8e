import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Closable, MeasureError } from '@kube-dns/bench';

const MAX_OUTPUT = 64 * 1024;
const LAST_LINES = 6;

/** How a container is started: a bundle, the flags of its Node, its arguments and variables. */
export interface ContainerSpec {
  readonly name: string;
  readonly node: string;
  readonly nodeFlags: readonly string[];
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A process that stands for a container of the pod: signals reach it, and it may end by itself. */
export class ContainerProcess implements Closable {
  readonly name: string;
  readonly #child: ChildProcess;
  #output = '';
  #end: string | undefined;

  constructor({ name, node, nodeFlags, program, args, env }: ContainerSpec) {
    this.name = name;
    this.#child = spawn(node, [...nodeFlags, program, ...args], {
      // Nothing of the machine's own cluster may reach it; the images set malloc's arenas, too.
      env: { PATH: process.env.PATH ?? '', MALLOC_ARENA_MAX: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const keep = (text: string) => (this.#output = (this.#output + text).slice(-MAX_OUTPUT));
    this.#child.stdout?.setEncoding('utf8').on('data', keep);
    this.#child.stderr?.setEncoding('utf8').on('data', keep);
    this.#child.once('error', (error) => (this.#end = error.message));
    this.#child.once('exit', (code, signal) => (this.#end ??= String(code ?? signal)));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** The exit code or signal with which it ended; undefined while it runs. */
  get end(): string | undefined {
    return this.#end;
  }

  get isRunning(): boolean {
    return this.#end === undefined;
  }

  /** The last lines that it has written. */
  get lastLines(): string {
    const lines = this.#output.split('\n').filter((line) => line.trim() !== '');
    return lines.slice(-LAST_LINES).join(' | ');
  }

  /** Throws a MeasureError when it is not there any more. */
  check(): void {
    if (this.isRunning) return;
    throw new MeasureError(`${this.name} ended with ${this.#end ?? ''}: ${this.lastLines}`);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Waits until it has ended; returns with what. */
  async ended(): Promise<string> {
    if (this.#end === undefined) await once(this.#child, 'exit');
    return this.#end ?? '';
  }

  async close(): Promise<void> {
    if (!this.isRunning || this.#child.pid === undefined) return;
    this.#child.kill('SIGKILL');
    await this.ended();
  }
}
