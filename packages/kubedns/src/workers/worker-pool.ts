import { type Log, StartupError } from '@kube-dns/daemon';
import { addFigures, type Figures } from './figures.js';
import type { Facts, WorkerStart } from './worker-messages.js';
import { WorkerThread } from './worker-thread.js';
import type { ZoneFeed } from './zone-feed.js';

export interface WorkerPoolOptions {
  /** How many threads there are besides the leader's. */
  readonly count: number;
  /** The file that they run, which calls `runWorker`. */
  readonly script: string;
  readonly start: WorkerStart;
  readonly feed: ZoneFeed;
  readonly facts: () => Facts;
  readonly serial: () => number;
  readonly closeLeft: (descriptor: number) => void;
  readonly log: Log;
  /** The first pause before a worker is replaced, which doubles; 1 s unless said otherwise. */
  readonly pauseMs?: number;
}

/** A place among the workers: the thread that has it now, and what those before it have counted. */
interface Place {
  readonly number: number;
  thread: WorkerThread;
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
const EXIT_CANNOT_BIND = 1;

/** The workers beside the leader. One that ends is replaced, after a pause when that goes on. */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #places: readonly Place[];
  readonly #timer: NodeJS.Timeout;
  /** Settles the start. */
  #onServing: () => void = () => undefined;
  #onFailure: (reason: string) => void = () => undefined;
  #isStarting = true;
  #isClosed = false;
  #restarts = 0;

  /** Starts the workers; rejects with a StartupError when one of them cannot serve. */
  static async start(options: WorkerPoolOptions): Promise<WorkerPool> {
    const pool = new WorkerPool(options);
    try {
      await new Promise<void>((resolve, reject) => {
        pool.#onServing = () => {
          if (pool.#places.every(({ thread }) => thread.isServing)) resolve();
        };
        pool.#onFailure = (reason) => reject(new StartupError(reason, EXIT_CANNOT_BIND));
      });
    } catch (error) {
      await pool.close();
      throw error;
    }
    pool.#isStarting = false;
    return pool;
  }

  private constructor(options: WorkerPoolOptions) {
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

  /** Whether every worker that serves knows the cluster, once the leader does. */
  get isSynced(): boolean {
    return this.#places.every(({ thread }) => thread.isSynced || !thread.isServing);
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
  get threads(): readonly WorkerThread[] {
    return this.#places.map(({ thread }) => thread);
  }

  /** Ends the workers; may be called twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const { timer } of this.#places) clearTimeout(timer);
    await Promise.all(this.#places.map(({ thread }) => thread.close()));
  }

  #startThread(number: number): WorkerThread {
    const { script, start, feed, facts, serial, closeLeft, log } = this.#options;
    return new WorkerThread({
      script,
      name: `worker ${number}`,
      start: { ...start, serial: serial() },
      feed,
      facts,
      serial,
      closeLeft,
      onServing: () => this.#hearServing(this.#places[number - 1]!),
      onError: (text) => log.error(`worker ${number}: ${text}`),
      onEnd: (reason) => this.#hearEnd(this.#places[number - 1]!, reason),
    });
  }

  #hearServing(place: Place): void {
    place.servesSinceMs = performance.now();
    if (this.#isStarting) this.#onServing();
    else this.#options.log.info(`worker ${place.number}: serving again`);
  }

  #hearEnd(place: Place, reason: string): void {
    keepPast(place);
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

  #pulse(): void {
    for (const { thread } of this.#places) thread.pulse();
  }
}

/** Nothing that a thread counted is lost with it; what it had under way is. */
function keepPast(place: Place): void {
  const { figures } = place.thread;
  place.thread.figures = undefined;
  if (figures === undefined) return;
  const ended: Figures = { ...figures, forwarder: { ...figures.forwarder, inFlight: 0 } };
  place.past = place.past === undefined ? ended : addFigures(place.past, ended);
}
