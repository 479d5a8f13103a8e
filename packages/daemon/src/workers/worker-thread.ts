import { type Transferable, Worker } from 'node:worker_threads';
import { errorText } from '../errors.js';
import { ChangeQueue, type ChangeSource } from './change-queue.js';
import type { Order, Report } from './worker-messages.js';

/** What workers are for. */
export interface WorkerWork<Change, Stamp> {
  /** The file that the threads run, which calls `serveAsWorker`. */
  readonly script: string;
  /** What they start with; it is cloned. */
  readonly start: () => object;
  readonly source: ChangeSource<Change>;
  /** What holds behind the last change that was told; told with each batch. */
  readonly stamp: () => Stamp;
  /** Closes a socket that a thread left open. */
  readonly closeLeft: (descriptor: number) => void;
}

export interface WorkerThreadOptions<Change, Stamp> extends WorkerWork<Change, Stamp> {
  readonly name: string;
  readonly onServing: () => void;
  /** Told of changes that are in force there. */
  readonly onTook: (changes: readonly Change[]) => void;
  readonly onSaid: (message: unknown) => void;
  readonly onError: (text: string) => void;
  /** Told once, when the thread is gone; without a reason where it was told to end. */
  readonly onEnd: (reason: string) => void;
}

/** A worker that has not answered for so many pulses hangs. */
const MAX_SILENT_PULSES = 6;
const CLOSE_LIMIT_MS = 1_000;

/** A worker as the leader sees it. One batch at a time is under way: the worker sets the pace. */
export class WorkerThread<Change, Stamp, Figures extends object> {
  /** What it has counted, as it said last. */
  figures: Figures | undefined;
  readonly #options: WorkerThreadOptions<Change, Stamp>;
  readonly #worker: Worker;
  readonly #queue: ChangeQueue<Change>;
  readonly #ended: Promise<void>;
  #batch: readonly Change[] | undefined;
  #isScheduled = false;
  #isTold = false;
  #isServing = false;
  #isEnded = false;
  #silentPulses = 0;
  #descriptors: readonly number[] = [];
  #reason = '';

  constructor(options: WorkerThreadOptions<Change, Stamp>) {
    this.#options = options;
    const { script, name, start, source } = options;
    this.#worker = new Worker(script, { name, workerData: start() });
    this.#queue = new ChangeQueue(source, () => this.#schedule());
    this.#worker.on('message', (report: Report<Figures>) => this.#hear(report));
    this.#worker.on('error', (error) => (this.#reason ||= errorText(error)));
    this.#ended = new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        this.#end(code);
        resolve();
      });
    });
    this.#schedule();
  }

  get isServing(): boolean {
    return this.#isServing && !this.#isEnded;
  }

  /** Tells it what is no change; nothing happens when it is gone. */
  say(message: unknown, transferred: readonly Transferable[] = []): void {
    this.#order({ kind: 'said', message }, transferred);
  }

  /** Asks for a sign of life; a worker that has given none to many of these is ended. */
  pulse(): void {
    if (this.#isEnded) return;
    const isAwaited = this.#batch !== undefined || (this.#isTold && !this.#isServing);
    if (!isAwaited) this.#send([]);
    else if (++this.#silentPulses >= MAX_SILENT_PULSES) {
      this.#reason ||= 'it hangs';
      void this.#worker.terminate();
    }
  }

  /** Ends the thread, by force when it does not end by itself. May be called twice. */
  async close(): Promise<void> {
    this.#order({ kind: 'close' });
    const timer = setTimeout(() => void this.#worker.terminate(), CLOSE_LIMIT_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  /** Ends the thread as a fault would; for tests. */
  async kill(): Promise<void> {
    this.#reason ||= 'killed';
    await this.#worker.terminate();
  }

  /** Changes that come together are told together. */
  #schedule(): void {
    if (this.#isScheduled || this.#batch !== undefined) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#tellMore();
    });
  }

  #tellMore(): void {
    if (this.#batch !== undefined || this.#isEnded) return;
    if (!this.#queue.isEmpty) this.#send(this.#queue.take());
    else if (!this.#isTold) {
      this.#isTold = true;
      this.#order({ kind: 'serve' });
    }
  }

  #send(changes: readonly Change[]): void {
    this.#batch = changes;
    this.#order({ kind: 'batch', changes, stamp: this.#options.stamp() });
  }

  #order(order: Order<Change, Stamp>, transferred: readonly Transferable[] = []): void {
    this.#worker.postMessage(order, transferred);
  }

  #hear(report: Report<Figures>): void {
    this.#silentPulses = 0;
    switch (report.kind) {
      case 'took':
        this.#hearTook();
        break;
      case 'serving':
        this.#isServing = true;
        this.#options.onServing();
        break;
      case 'descriptors':
        this.#descriptors = report.descriptors;
        break;
      case 'failed':
        this.#reason = report.reason;
        break;
      case 'figures':
        this.figures = report.figures;
        break;
      case 'said':
        this.#options.onSaid(report.message);
        break;
      case 'error':
        this.#options.onError(report.text);
    }
  }

  #hearTook(): void {
    this.#options.onTook(this.#batch ?? []);
    this.#batch = undefined;
    this.#tellMore();
  }

  #end(code: number): void {
    this.#isEnded = true;
    this.#queue.close();
    // Else the system would go on to give queries to a socket that nobody reads.
    for (const descriptor of this.#descriptors) this.#options.closeLeft(descriptor);
    this.#options.onEnd(this.#reason || `exit code ${code}`);
  }
}
