import { noteWait, nowMs } from '../batch-clock.js';
import type { EventLoop } from './libc.js';

/**
 * Descriptors that are ready more often than this are waited for in place of the event loop, for so long: what else the loop may have
 * to do, other than timers and descriptors, waits for that.
 */
const WAIT_MS = 20;

/**
 * A descriptor that a callback of the event loop waits for itself, as long as the loop has nothing else to do: the way through the
 * loop takes one system call more, and as much CPU as an answer.
 */
export class Awaited {
  readonly #loop: EventLoop | undefined;
  readonly #turn: () => boolean;
  readonly #wait: (loop: EventLoop, timeoutMs: number) => boolean;
  /** When the event loop called last. */
  #servedMs = 0;

  /**
   * `turn` takes what is there, and returns whether nothing is left for the event loop; `wait` returns whether there is something to
   * take, and false when the loop has to look first.
   */
  constructor(
    loop: EventLoop | undefined,
    turn: () => boolean,
    wait: (loop: EventLoop, timeoutMs: number) => boolean,
  ) {
    this.#loop = loop;
    this.#turn = turn;
    this.#wait = wait;
  }

  /** Called by the event loop when the descriptor can be read. */
  serve(): void {
    const loop = this.#loop;
    let endMs = 0;
    while (this.#turn() && loop !== undefined) {
      const sinceMs = nowMs();
      if (endMs === 0) {
        const isBusy = sinceMs - this.#servedMs < WAIT_MS;
        this.#servedMs = sinceMs;
        if (!isBusy) return;
        endMs = sinceMs + Math.min(WAIT_MS, loop.untilDueMs());
      }
      const timeoutMs = Math.round(endMs - sinceMs);
      if (timeoutMs <= 0) return;
      const isReady = this.#wait(loop, timeoutMs);
      noteWait(sinceMs);
      if (!isReady) return;
    }
  }
}
