import type { Closable, RunningProgram } from '@kube-dns/testkit';
import { type ContainerSpec, startContainer } from './container.js';

/** A container that is started again some time after it has ended, as kubelet does. */
export class SupervisedContainer implements Closable {
  /** With what it has ended each time before it was started again, and its last lines. */
  readonly ends: string[] = [];
  readonly #spec: ContainerSpec;
  readonly #pauseMs: number;
  #process: RunningProgram;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(spec: ContainerSpec, pauseMs: number) {
    this.#spec = spec;
    this.#pauseMs = pauseMs;
    this.#process = this.#start();
  }

  get name(): string {
    return this.#spec.name;
  }

  /** Of the one that runs, or ran last. */
  get pid(): number {
    return this.#process.pid;
  }

  /** Sends nothing while none runs. */
  signal(signal: NodeJS.Signals): void {
    if (this.#process.isRunning) this.#process.signal(signal);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#process.close();
  }

  #start(): RunningProgram {
    const process = startContainer(this.#spec);
    void process.ended.then((end) => {
      if (this.#isClosed) return;
      this.ends.push(`${end}: ${process.lastLines}`);
      this.#timer = setTimeout(() => (this.#process = this.#start()), this.#pauseMs);
    });
    return process;
  }
}
