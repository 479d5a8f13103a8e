import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { MeasureError } from '../errors.js';
import { monotonicMs } from '../monotonic.js';
import { until } from '../until.js';

const MAX_OUTPUT = 64 * 1024;
const LAST_LINES = 8;
const STACK_LINE = /^ +at /;
const STEP_MS = 10;
/** What a shell says of a program that cannot be started. */
const NOT_STARTED = 127;

/**
 * Nothing of the machine's own cluster, metrics or Node options may reach a measured program. The images
 * have the setting of malloc, too.
 */
const ENVIRONMENT = {
  PATH: process.env.PATH ?? '',
  MALLOC_ARENA_MAX: '1',
  NO_COLOR: '1',
};

/** A server that is measured: any program that goes on until it is told to end, or ends by itself. */
export class ServerProcess {
  /** When it was started, on the monotonic clock. */
  readonly startedMs = monotonicMs();
  /** Resolves once it is not there any more, with its exit code or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  readonly name: string;
  readonly #child: ChildProcess;
  #output = '';
  #failure: string | undefined;

  /** `environment` comes on top of the little that every measured program gets. */
  constructor(
    name: string,
    command: string,
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ) {
    this.name = name;
    const env = { ...ENVIRONMENT, ...environment };
    this.#child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const keep = (text: string) => (this.#output = (this.#output + text).slice(-MAX_OUTPUT));
    this.#child.stdout?.setEncoding('utf8').on('data', keep);
    this.#child.stderr?.setEncoding('utf8').on('data', keep);
    this.#child.once('error', (error) => (this.#failure = error.message));
    this.#child.once('exit', (code, signal) => (this.#failure ??= `ended with ${code ?? signal}`));
    this.ended = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => resolve(code ?? signal ?? NOT_STARTED));
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** The last 64 KiB that it has said, on both streams. */
  get output(): string {
    return this.#output;
  }

  /** Its last lines but those of stacks. */
  get lastLines(): string {
    const lines = this.#output
      .split('\n')
      .filter((line) => line.trim() !== '' && !STACK_LINE.test(line));
    return lines.slice(-LAST_LINES).join(' | ');
  }

  /** Whether it was started and has not ended. */
  get isRunning(): boolean {
    return this.#failure === undefined;
  }

  /** Throws a MeasureError when the program is not there any more, with its last lines. */
  check(): void {
    if (this.isRunning) return;
    throw new MeasureError(`${this.name} ${this.#failure ?? ''}: ${this.lastLines}`);
  }

  /** Waits until the program has said something like this. */
  async says(pattern: RegExp, limitMs: number): Promise<void> {
    const hasSaid = () => {
      this.check();
      return pattern.test(this.#output);
    };
    if (await until(hasSaid, limitMs, STEP_MS)) return;
    throw new MeasureError(`${this.name} has not said ${pattern.source} in time`);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Ends the program at once; may be called twice. */
  async close(): Promise<void> {
    const { exitCode, signalCode, pid } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exit;
  }
}
