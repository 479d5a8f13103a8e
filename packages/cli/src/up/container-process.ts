import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '@kube-dns/base';
import { reasonOf } from '../errors.js';
import { LogTail } from './log-lines.js';
import type { LogOutput } from './log-output.js';
import type { ContainerPlan } from './plan.js';

/** How a container's process ended. */
export interface Exit {
  readonly isClean: boolean;
  /** False when no process was created. */
  readonly wasStarted: boolean;
  /** Completes "container x …": "ended with status 1", "cannot be started: …". */
  readonly description: string;
  /** The line of its output that most likely holds the reason; empty without output. */
  readonly lastLine: string;
}

/**
 * How long the pipes of an ended process are still read: a grandchild may hold them open for ever, and the
 * reader of our log may have stopped.
 */
const DRAIN_MS = 500;

/**
 * One run of a container's program, started by the constructor, its output in the log. Calls
 * `onExit` exactly once, never from within the constructor, when the process has ended and its
 * output has been written.
 */
export class ContainerProcess {
  readonly #clock: Clock;
  readonly #onExit: (exit: Exit) => void;
  readonly #tail = new LogTail();
  #child: ChildProcess | undefined;
  #hasEnded = false;
  #cancelKill: () => void = () => undefined;

  constructor(plan: ContainerPlan, log: LogOutput, clock: Clock, onExit: (exit: Exit) => void) {
    this.#clock = clock;
    this.#onExit = onExit;
    try {
      // Out of our process group: Ctrl-C at the terminal is for us, and the container gets SIGTERM alone, in
      // its turn. Our own programs end by themselves when this process is killed.
      const child = spawn(plan.file, plan.args, {
        cwd: plan.cwd,
        env: { ...plan.env, KUBE_DNS_ENDS_WITH_PARENT: '1' },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      });
      this.#child = child;
      const onLine = (line: string) => this.#tail.push(line);
      const outputs: Output[] = [
        { from: child.stdout, to: log.sink(plan.name, onLine) },
        { from: child.stderr, to: log.sink(plan.name, onLine) },
      ];
      for (const { from, to } of outputs) from.pipe(to);
      child.on('error', (error) => {
        if (child.pid === undefined) this.#failToStart(error);
      });
      child.on('exit', (code, signal) => this.#drain(outputs, code, signal));
    } catch (error) {
      // An argument that no process can receive, such as one with a NUL.
      process.nextTick(() => this.#failToStart(error));
    }
  }

  /** Sends SIGTERM, and SIGKILL if the process still runs after `graceMs`. */
  terminate(graceMs: number): void {
    if (this.#hasEnded) return;
    this.#cancelKill();
    this.#cancelKill = this.#clock.after(graceMs, () => this.kill());
    this.#child?.kill('SIGTERM');
  }

  /** Sends SIGKILL. */
  kill(): void {
    if (!this.#hasEnded) this.#child?.kill('SIGKILL');
  }

  #failToStart(error: unknown): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#cancelKill();
    const description = `cannot be started: ${reasonOf(error)}`;
    this.#onExit({ isClean: false, wasStarted: false, description, lastLine: '' });
  }

  #drain(outputs: readonly Output[], code: number | null, signal: NodeJS.Signals | null): void {
    this.#hasEnded = true;
    this.#cancelKill();
    let open = outputs.length;
    const report = () => {
      cancelWait();
      const description = signal === null ? `ended with status ${code}` : `was ended by ${signal}`;
      const lastLine = this.#tail.reason();
      this.#onExit({ isClean: code === 0, wasStarted: true, description, lastLine });
    };
    const finished = () => {
      open -= 1;
      if (open === 0) report();
    };
    const cancelWait = this.#clock.after(DRAIN_MS, () => {
      for (const { from, to } of outputs) {
        to.off('finish', finished);
        from.destroy();
        to.end();
      }
      report();
    });
    for (const { to } of outputs) {
      if (to.writableFinished) finished();
      else to.once('finish', finished);
    }
  }
}

interface Output {
  readonly from: Readable;
  readonly to: Writable;
}
