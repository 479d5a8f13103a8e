import { setImmediate } from 'node:timers/promises';
import { StreamError } from '../errors.js';

/**
 * Something that takes time: a loop, a try, a request, a guard. It ends with the task around it, or when it is
 * aborted, and its pauses end with it. All that waits here waits in one.
 */
export class Task {
  /** Aborted when the task is, with the same reason: ends its requests. */
  readonly signal: AbortSignal;
  readonly #abort = new AbortController();

  constructor(outer?: AbortSignal) {
    const { signal } = this.#abort;
    this.signal = outer === undefined ? signal : AbortSignal.any([outer, signal]);
  }

  get isAborted(): boolean {
    return this.signal.aborted;
  }

  abort(reason = new Error('ended')): void {
    this.#abort.abort(reason);
  }

  /** Resolves after so long, or at the end of the task: to whether it goes on. Does not keep the process alive. */
  pause(ms: number): Promise<boolean> {
    const { signal } = this;
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        resolve(false);
      };
      const timer = setTimeout(() => {
        signal.removeEventListener('abort', end);
        resolve(true);
      }, ms);
      timer.unref();
      signal.addEventListener('abort', end, { once: true });
    });
  }
}

/**
 * Does what must be done within a time limit: then the task is aborted with a StreamError (`idle`). `problem` is the
 * error's text, as `no answer`; the limit is added.
 */
export async function withLimit<T>(
  outer: AbortSignal,
  limitMs: number,
  problem: string,
  work: (task: Task) => Promise<T>,
): Promise<T> {
  const task = new Task(outer);
  const timer = setTimeout(() => {
    task.abort(new StreamError('idle', `${problem} within ${limitMs} ms`));
  }, limitMs);
  try {
    return await work(task);
  } finally {
    // The signal stays: the body of an answer may outlive the limit of its head.
    clearTimeout(timer);
  }
}

/** Maximum time of work before other events get their turn. Three lists at a time may have one each. */
const TURN_MS = 4;

/** Cuts long work into turns of the event loop, by time: `if (turn.isOver) await turn.next()`. */
export class LoopTurn {
  #endMs = performance.now() + TURN_MS;

  get isOver(): boolean {
    return performance.now() >= this.#endMs;
  }

  /** Resolves in another turn of the event loop, after timers and sockets were served. */
  async next(): Promise<void> {
    await setImmediate();
    this.#endMs = performance.now() + TURN_MS;
  }
}
