import { StartupError } from '../errors.js';
import type { Log } from '../log.js';
import { addFigures } from './add-figures.js';
import { WorkerThread, type WorkerWork } from './worker-thread.js';

export interface WorkerPoolOptions<Change, Stamp, Figures extends object> extends WorkerWork<
  Change,
  Stamp
> {
  /** How many threads there are besides the leader's. */
  readonly count: number;
  /** The exit code for a worker that cannot serve at the start. */
  readonly exitCode: number;
  readonly log: Log;
  /** Told of changes that are in force in a thread. */
  readonly onTook?: (
    thread: WorkerThread<Change, Stamp, Figures>,
    changes: readonly Change[],
  ) => void;
  /** Told what a thread says beside its reports. */
  readonly onSaid?: (thread: WorkerThread<Change, Stamp, Figures>, message: unknown) => void;
  /** What the figures of a thread become when it has ended: what it had under way is not any more. */
  readonly ended?: (figures: Figures) => Figures;
  /** The first pause before a worker is replaced, which doubles; 1 s unless said otherwise. */
  readonly pauseMs?: number;
}

/** A place among the workers: the thread that has it now, and what those before it have counted. */
interface Place<Change, Stamp, Figures extends object> {
  readonly number: number;
  thread: WorkerThread<Change, Stamp, Figures>;
  past: Figures | undefined;
  timer: NodeJS.Timeout | undefined;
  /** Threads that ended soon after one another. */
  failures: number;
  servesSinceMs: number;
}

const PULSE_MS = 5_000;
const PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
/** A worker that has served so long was not a failure. */
const GOOD_MS = 60_000;

/** The workers beside the leader. One that ends is replaced, after a pause when that goes on. */
export class WorkerPool<Change, Stamp, Figures extends object> {
  readonly #options: WorkerPoolOptions<Change, Stamp, Figures>;
  readonly #places: readonly Place<Change, Stamp, Figures>[];
  readonly #timer: NodeJS.Timeout;
  /** Settles the start. */
  #onServing: () => void = () => undefined;
  #onFailure: (reason: string) => void = () => undefined;
  #isStarting = true;
  #isClosed = false;
  #restarts = 0;

  /** Starts the workers; rejects with a StartupError when one of them cannot serve. */
  static async start<Change, Stamp, Figures extends object>(
    options: WorkerPoolOptions<Change, Stamp, Figures>,
  ): Promise<WorkerPool<Change, Stamp, Figures>> {
    const pool = new WorkerPool(options);
    try {
      await new Promise<void>((resolve, reject) => {
        pool.#onServing = () => {
          if (pool.#places.every(({ thread }) => thread.isServing)) resolve();
        };
        pool.#onFailure = (reason) => reject(new StartupError(reason, options.exitCode));
      });
    } catch (error) {
      await pool.close();
      throw error;
    }
    pool.#isStarting = false;
    return pool;
  }

  private constructor(options: WorkerPoolOptions<Change, Stamp, Figures>) {
    this.#options = options;
    this.#places = Array.from({ length: options.count }, (_, i) => ({
      number: i + 1,
      thread: this.#startThread(i + 1),
      past: undefined,
      timer: undefined,
      failures: 0,
      servesSinceMs: 0,
    }));
    this.#timer = setInterval(() => this.#pulse(), PULSE_MS).unref();
  }

  /** How many workers were replaced, or are about to be. */
  get restarts(): number {
    return this.#restarts;
  }

  /** What each worker has counted, its predecessors included; undefined when nothing yet. */
  get figures(): readonly (Figures | undefined)[] {
    return this.#places.map(({ past, thread }) => {
      if (past === undefined || thread.figures === undefined) return past ?? thread.figures;
      return addFigures(past, thread.figures);
    });
  }

  /** The threads that serve now, which tests may kill. */
  get threads(): readonly WorkerThread<Change, Stamp, Figures>[] {
    return this.#places.map(({ thread }) => thread);
  }

  /** Ends the workers; may be called twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const { timer } of this.#places) clearTimeout(timer);
    await Promise.all(this.#places.map(({ thread }) => thread.close()));
  }

  #startThread(number: number): WorkerThread<Change, Stamp, Figures> {
    const { log, onTook, onSaid } = this.#options;
    const thread = new WorkerThread<Change, Stamp, Figures>({
      ...this.#options,
      name: `worker ${number}`,
      onServing: () => this.#hearServing(this.#places[number - 1]!),
      onTook: (changes) => onTook?.(thread, changes),
      onSaid: (message) => onSaid?.(thread, message),
      onError: (text) => log.error(`worker ${number}: ${text}`),
      onEnd: (reason) => this.#hearEnd(this.#places[number - 1]!, reason),
    });
    return thread;
  }

  #hearServing(place: Place<Change, Stamp, Figures>): void {
    place.servesSinceMs = performance.now();
    if (this.#isStarting) this.#onServing();
    else this.#options.log.info(`worker ${place.number}: serving again`);
  }

  #hearEnd(place: Place<Change, Stamp, Figures>, reason: string): void {
    this.#keepPast(place);
    if (this.#isClosed) return;
    if (this.#isStarting) {
      this.#onFailure(`worker ${place.number}: ${reason}`);
      return;
    }
    this.#restarts++;
    const servedMs = performance.now() - place.servesSinceMs;
    place.failures = servedMs > GOOD_MS ? 1 : place.failures + 1;
    const { pauseMs = PAUSE_MS, log } = this.#options;
    const ms = Math.min(pauseMs * 2 ** (place.failures - 1), MAX_PAUSE_MS);
    log.error(`worker ${place.number} has ended: ${reason}; another one in ${ms} ms`);
    place.timer = setTimeout(() => (place.thread = this.#startThread(place.number)), ms).unref();
  }

  /** Nothing that a thread counted is lost with it. */
  #keepPast(place: Place<Change, Stamp, Figures>): void {
    const { figures } = place.thread;
    place.thread.figures = undefined;
    if (figures === undefined) return;
    const ended = this.#options.ended?.(figures) ?? figures;
    place.past = place.past === undefined ? ended : addFigures(place.past, ended);
  }

  #pulse(): void {
    for (const { thread } of this.#places) thread.pulse();
  }
}
