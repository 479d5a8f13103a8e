import { Worker } from 'node:worker_threads';

/** The memory that the two threads share: first numbers, then the input. */
const COUNT = 0;
const LENGTH = 1;
const NUMBERS = 2;
const HEAD_BYTES = NUMBERS * Int32Array.BYTES_PER_ELEMENT;

/** No input is longer, what was found once included. */
const MAX_INPUT_BYTES = 65_536;

const HANG_LIMIT_MS = 20_000;

export interface WatchdogOptions {
  /** Where the findings are, and of which parser. */
  readonly corpus: string;
  readonly parser: string;
  /** Only an endless loop takes this long, also on a busy machine. */
  readonly limitMs?: number;
}

/** What the thread of a watchdog is started with. */
export interface WatchdogData {
  readonly shared: SharedArrayBuffer;
  readonly corpus: string;
  readonly parser: string;
  readonly limitMs: number;
}

/**
 * Ends the process when one input hangs, after writing the input into the corpus. A thread watches, because
 * a parser that hangs blocks the event loop.
 */
export class Watchdog {
  readonly #numbers: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #worker: Worker;

  constructor({ corpus, parser, limitMs = HANG_LIMIT_MS }: WatchdogOptions) {
    const shared = new SharedArrayBuffer(HEAD_BYTES + MAX_INPUT_BYTES);
    this.#numbers = new Int32Array(shared, 0, NUMBERS);
    this.#bytes = new Uint8Array(shared, HEAD_BYTES);
    const workerData: WatchdogData = { shared, corpus, parser, limitMs };
    this.#worker = new Worker(new URL('./watchdog-thread.js', import.meta.url), { workerData });
    this.#worker.unref();
  }

  /** The parser is about to get this input. */
  note(input: Uint8Array): void {
    this.#bytes.set(input);
    this.#numbers[LENGTH] = input.length;
    this.#numbers[COUNT]!++;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}

/** The thread's side: how many inputs there were, and the last one. */
export class WatchedInput {
  readonly #numbers: Int32Array;
  readonly #bytes: Uint8Array;

  constructor(shared: SharedArrayBuffer) {
    this.#numbers = new Int32Array(shared, 0, NUMBERS);
    this.#bytes = new Uint8Array(shared, HEAD_BYTES);
  }

  get count(): number {
    return Atomics.load(this.#numbers, COUNT);
  }

  copy(): Buffer {
    return Buffer.from(this.#bytes.slice(0, Atomics.load(this.#numbers, LENGTH)));
  }
}
