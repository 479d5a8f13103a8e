import { setTimeout as delay } from 'node:timers/promises';

export interface TryLoopOptions {
  /** One try, which ends with its signal. Resolves to the pause before the next one, in ms. */
  readonly attempt: (signal: AbortSignal) => Promise<number>;
  /** A try failed; not called when the loop was stopped. Returns the pause before the next one, in ms. */
  readonly onFailure: (error: unknown) => number;
}

/** Tries one thing again and again, one try after the other, until it is stopped. */
export class TryLoop {
  readonly #options: TryLoopOptions;
  #stop: AbortController | undefined;
  /** Of the try or the pause that is going on. */
  #current = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: TryLoopOptions) {
    this.#options = options;
  }

  get isStarted(): boolean {
    return this.#stop !== undefined;
  }

  /** Starts, or continues after `stop`. */
  start(): void {
    if (this.#isClosed || this.isStarted) return;
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    this.#running = this.#running.then(() => this.#run(signal));
  }

  /** Ends the try or the pause that is going on; the next try follows. */
  interrupt(error: Error): void {
    this.#current.abort(error);
  }

  /** Resolves when no try is going on any more. */
  async stop(): Promise<void> {
    this.#stop?.abort(new Error('stopped'));
    this.#stop = undefined;
    await this.#running;
  }

  /** Stops for ever. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.stop();
  }

  async #run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const pauseMs = await this.#try(stop);
      if (pauseMs === 0) continue;
      await delay(pauseMs, undefined, { signal: this.#signal(stop), ref: false }).catch(() => {
        /* stopped or interrupted */
      });
    }
  }

  async #try(stop: AbortSignal): Promise<number> {
    const signal = this.#signal(stop);
    try {
      const pauseMs = await this.#options.attempt(signal);
      signal.throwIfAborted();
      return pauseMs;
    } catch (error) {
      return stop.aborted ? 0 : this.#options.onFailure(error);
    }
  }

  #signal(stop: AbortSignal): AbortSignal {
    this.#current = new AbortController();
    return AbortSignal.any([stop, this.#current.signal]);
  }
}
