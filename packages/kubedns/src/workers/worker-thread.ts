import { Worker } from 'node:worker_threads';
import { errorText } from '@kube-dns/daemon';
import { ChangeQueue } from './change-queue.js';
import type { Figures } from './figures.js';
import type { Batch, Facts, Order, Report, WorkerStart } from './worker-messages.js';
import type { ZoneFeed } from './zone-feed.js';

export interface WorkerThreadOptions {
  /** The file that the thread runs, which calls `runWorker`. */
  readonly script: string;
  readonly name: string;
  readonly start: WorkerStart;
  readonly feed: ZoneFeed;
  readonly facts: () => Facts;
  /** The serial of the leader's zone. */
  readonly serial: () => number;
  /** Closes what a thread left open, see `UdpEngine.closeLeft`. */
  readonly closeLeft: (descriptor: number) => void;
  readonly onServing: () => void;
  readonly onError: (text: string) => void;
  /** Told once, when the thread is gone; without a reason where it was told to end. */
  readonly onEnd: (reason: string) => void;
}

/** A worker that has not answered for so many pulses hangs. */
const MAX_SILENT_PULSES = 6;
const CLOSE_LIMIT_MS = 1_000;

/** A worker as the leader sees it. One batch at a time is under way: the worker sets the pace. */
export class WorkerThread {
  /** What it has counted, as it said last. */
  figures: Figures | undefined;
  readonly #options: WorkerThreadOptions;
  readonly #worker: Worker;
  readonly #queue: ChangeQueue;
  readonly #ended: Promise<void>;
  #batch: Batch | undefined;
  #isScheduled = false;
  #isTold = false;
  #isServing = false;
  #isSynced = false;
  #isEnded = false;
  #silentPulses = 0;
  #descriptor: number | undefined;
  #reason = '';

  constructor(options: WorkerThreadOptions) {
    this.#options = options;
    const { script, name, start, feed, facts } = options;
    this.#worker = new Worker(script, { name, workerData: start });
    this.#queue = new ChangeQueue(feed, facts(), () => this.#schedule());
    this.#worker.on('message', (report: Report) => this.#hear(report));
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

  /** Whether it knows that the whole cluster was seen, and with that the cluster. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Asks for a sign of life; a worker that has given none to many of these is ended. */
  pulse(): void {
    if (this.#isEnded) return;
    const isAwaited = this.#batch !== undefined || (this.#isTold && !this.#isServing);
    if (!isAwaited) this.#send({ changes: [], serial: this.#options.serial() });
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
    if (!this.#queue.isEmpty) this.#send(this.#queue.take(this.#options.serial()));
    else if (!this.#isTold) {
      this.#isTold = true;
      this.#order({ kind: 'serve' });
    }
  }

  #send(batch: Batch): void {
    this.#batch = batch;
    this.#order({ kind: 'batch', ...batch });
  }

  #order(order: Order): void {
    this.#worker.postMessage(order);
  }

  #hear(report: Report): void {
    this.#silentPulses = 0;
    switch (report.kind) {
      case 'took':
        this.#hearTook();
        break;
      case 'serving':
        this.#isServing = true;
        this.#descriptor = report.descriptor;
        this.#options.onServing();
        break;
      case 'closing':
        this.#descriptor = undefined;
        break;
      case 'failed':
        this.#reason = report.reason;
        break;
      case 'figures':
        this.figures = report.figures;
        break;
      case 'error':
        this.#options.onError(report.text);
    }
  }

  #hearTook(): void {
    for (const change of this.#batch?.changes ?? []) {
      if (change[0] === 'facts') this.#isSynced = change[1].isSynced;
    }
    this.#batch = undefined;
    this.#tellMore();
  }

  #end(code: number): void {
    this.#isEnded = true;
    this.#queue.close();
    // Else the system would go on to give queries to a socket that nobody reads.
    if (this.#descriptor !== undefined) this.#options.closeLeft(this.#descriptor);
    this.#options.onEnd(this.#reason || `exit code ${code}`);
  }
}
