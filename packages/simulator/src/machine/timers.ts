import type { RunningProcess } from '../host.js';
import type { ScheduledEvent } from '../scheduler.js';

type Callback = (...args: unknown[]) => void;

/** Longer delays are 1 ms, as in Node. */
const MAX_DELAY_MS = 2 ** 31 - 1;
/** What a turn of the event loop takes, so that a program that waits turn by turn sees time pass. */
const TURN_US = 5;

/** What `setTimeout` returns. */
class Timer {
  readonly #process: RunningProcess;
  readonly #delayUs: number;
  readonly #callback: () => void;
  readonly #repeats: boolean;
  #event: ScheduledEvent | undefined;
  #isRef = true;

  constructor(process: RunningProcess, delayUs: number, callback: () => void, repeats: boolean) {
    this.#process = process;
    this.#delayUs = delayUs;
    this.#callback = callback;
    this.#repeats = repeats;
    this.#schedule();
  }

  #schedule(): void {
    const event = this.#process.schedule(this.#delayUs, () => {
      // What was due in a frozen process may be cleared by what comes before it.
      if (this.#event !== event) return;
      this.#event = undefined;
      if (this.#repeats) this.#schedule();
      this.#callback();
    });
    this.#event = event;
  }

  close(): this {
    if (this.#event !== undefined) this.#process.forget(this.#event);
    this.#event = undefined;
    return this;
  }

  refresh(): this {
    this.close();
    this.#schedule();
    return this;
  }

  ref(): this {
    this.#isRef = true;
    return this;
  }

  unref(): this {
    this.#isRef = false;
    return this;
  }

  hasRef(): boolean {
    return this.#isRef;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

export type Timers = ReturnType<typeof timersOf>;

/** The timers of a process, in virtual time. */
export function timersOf(process: RunningProcess) {
  const start = (callback: Callback, ms: number | undefined, args: unknown[], repeats: boolean) =>
    new Timer(process, delayUs(ms), () => callback(...args), repeats);
  const clear = (timer: unknown) => {
    if (timer instanceof Timer) timer.close();
  };
  return {
    setTimeout: (callback: Callback, ms?: number, ...args: unknown[]) =>
      start(callback, ms, args, false),
    setInterval: (callback: Callback, ms?: number, ...args: unknown[]) =>
      start(callback, ms, args, true),
    setImmediate: (callback: Callback, ...args: unknown[]) =>
      new Timer(process, TURN_US, () => callback(...args), false),
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: clear,
  };
}

function delayUs(ms: number | undefined): number {
  const delayMs = ms === undefined || !(ms >= 1 && ms <= MAX_DELAY_MS) ? 1 : Math.trunc(ms);
  return delayMs * 1_000;
}

interface WaitOptions {
  readonly signal?: AbortSignal;
}

/** `node:timers/promises`. */
export function timersPromisesModule(timers: Timers) {
  const wait = <T>(start: (done: () => void) => unknown, value: T, { signal }: WaitOptions = {}) =>
    new Promise<T>((resolve, reject) => {
      const abort = () => {
        timers.clearTimeout(timer);
        reject(Object.assign(new Error('The operation was aborted', { cause: signal?.reason }), { name: 'AbortError', code: 'ABORT_ERR' })); // prettier-ignore
      };
      const timer = start(() => {
        signal?.removeEventListener('abort', abort);
        resolve(value);
      });
      if (signal?.aborted === true) abort();
      else signal?.addEventListener('abort', abort, { once: true });
    });
  return {
    setTimeout: <T>(ms?: number, value?: T, options?: WaitOptions) =>
      wait((done) => timers.setTimeout(done, ms), value, options),
    setImmediate: <T>(value?: T, options?: WaitOptions) =>
      wait((done) => timers.setImmediate(done), value, options),
    scheduler: { wait: (ms: number, options?: WaitOptions) => wait((done) => timers.setTimeout(done, ms), undefined, options) }, // prettier-ignore
  };
}
