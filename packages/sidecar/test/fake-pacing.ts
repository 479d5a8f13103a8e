import type { Pacing } from '../src/pacing.js';

interface Pause {
  readonly ms: number;
  readonly end: () => void;
}

/** A clock that only the test advances: a pause ends when the test ends it. */
export class FakePacing implements Pacing {
  timeMs = 1_000_000;
  #pause: Pause | null = null;
  #notify: () => void = () => undefined;

  readonly now = () => this.timeMs;
  readonly random = () => 0.5;

  readonly pause = (ms: number, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
      this.#pause = { ms, end: resolve };
      this.#notify();
    });

  /** The length of the loop's next pause, once it has begun. */
  async paused(): Promise<number> {
    if (this.#pause === null) await new Promise<void>((resolve) => (this.#notify = resolve));
    return this.#pause!.ms; // set before #notify is called
  }

  /** Ends the current pause and waits until the next one begins. */
  async next(): Promise<number> {
    const ms = await this.paused();
    this.timeMs += ms;
    const pause = this.#pause;
    this.#pause = null;
    pause?.end();
    return this.paused();
  }
}
