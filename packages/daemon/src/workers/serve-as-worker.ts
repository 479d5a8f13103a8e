import { type MessagePort, parentPort, type Transferable, workerData } from 'node:worker_threads';
import { errorText } from '../errors.js';
import type { Order, Report } from './worker-messages.js';

/** What a worker can tell its leader at any time. */
export interface Leader {
  /** Errors that nobody caught in this thread. */
  readonly unexpectedErrors: number;
  /** To the leader's log, as an error. */
  complain(text: string): void;
  /** What is no report of these here. */
  say(message: unknown, transferred?: readonly Transferable[]): void;
  /**
   * Told before each socket is closed and after each is opened: the descriptors that outlive this thread
   * unless somebody closes them.
   */
  leaveOpen(descriptors: readonly number[]): void;
}

/** What one worker does. */
export interface WorkerTask<Change, Stamp, Figures> {
  /** Puts changes in force, in their order. */
  take(changes: readonly Change[], stamp: Stamp): void;
  /** Opens what it serves; a rejection ends the thread with that reason. */
  serve(): Promise<void>;
  /** Ends everything that would keep the thread from ending. */
  close(): Promise<void>;
  /** What the leader says beside changes. */
  hear?(message: unknown): void;
  /** Everything that was counted, as plain data. */
  figures(): Figures;
}

/** So old are the figures of a worker at most when the leader reads them. */
const FIGURES_MS = 100;

/** Runs this thread as a worker of a `WorkerPool`; `start` is what the pool starts it with. */
export function serveAsWorker<Change, Stamp, Figures extends object>(
  createTask: (start: unknown, leader: Leader) => WorkerTask<Change, Stamp, Figures>,
): void {
  const seat = new Seat<Change, Stamp, Figures>(parentPort!);
  seat.run(createTask(workerData, seat));
}

/** Hears the orders of the leader and reports to it. */
class Seat<Change, Stamp, Figures> implements Leader {
  unexpectedErrors = 0;
  readonly #port: MessagePort;
  #task!: WorkerTask<Change, Stamp, Figures>;
  #isServing = false;
  #isClosing = false;
  #timer: NodeJS.Timeout | undefined;
  #lastFigures = '';

  constructor(port: MessagePort) {
    this.#port = port;
  }

  run(task: WorkerTask<Change, Stamp, Figures>): void {
    this.#task = task;
    const onUnexpected = (error: unknown) => {
      this.unexpectedErrors++;
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.complain(`unexpected error, going on: ${text}`);
    };
    process.on('uncaughtException', onUnexpected);
    process.on('unhandledRejection', onUnexpected);
    this.#port.on('message', (order: Order<Change, Stamp>) => this.#obey(order));
    this.#timer = setInterval(() => this.#reportFigures(), FIGURES_MS);
  }

  complain(text: string): void {
    this.#report({ kind: 'error', text });
  }

  say(message: unknown, transferred: readonly Transferable[] = []): void {
    this.#report({ kind: 'said', message }, transferred);
  }

  leaveOpen(descriptors: readonly number[]): void {
    this.#report({ kind: 'descriptors', descriptors });
  }

  #obey(order: Order<Change, Stamp>): void {
    switch (order.kind) {
      case 'batch':
        this.#task.take(order.changes, order.stamp);
        this.#report({ kind: 'took' });
        break;
      case 'said':
        this.#task.hear?.(order.message);
        break;
      case 'serve':
        void this.#serve();
        break;
      case 'close':
        void this.#close();
    }
  }

  async #serve(): Promise<void> {
    try {
      await this.#task.serve();
    } catch (error) {
      this.#report({ kind: 'failed', reason: errorText(error) });
      await this.#close();
      return;
    }
    if (this.#isClosing) await this.#task.close();
    else {
      this.#isServing = true;
      this.#report({ kind: 'serving' });
    }
  }

  /** Ends the thread, as nothing is left that it could wait for. */
  async #close(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    await this.#task.close();
    clearInterval(this.#timer);
    this.#reportFigures();
    this.#port.close();
  }

  #reportFigures(): void {
    if (!this.#isServing) return;
    const figures = this.#task.figures();
    const text = JSON.stringify(figures);
    if (text === this.#lastFigures) return;
    this.#lastFigures = text;
    this.#report({ kind: 'figures', figures });
  }

  #report(report: Report<Figures>, transferred: readonly Transferable[] = []): void {
    this.#port.postMessage(report, transferred);
  }
}
