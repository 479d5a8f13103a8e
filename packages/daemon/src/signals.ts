import { errorText } from '@kube-dns/base';
import type { Log } from './log.js';

export type TerminationSignal = 'SIGTERM' | 'SIGINT';

/** What a program does on a signal; each signal may have several handlers. */
export interface Signals {
  /** Drain and close. SIGTERM waits for all handlers, SIGINT (a user at a terminal) for one second. */
  onTerminate(handler: (signal: TerminationSignal) => Promise<void> | void): void;
  /** SIGHUP: read the files again. */
  onReload(handler: () => void): void;
  /** SIGUSR1: write statistics to the log, or what the original does. */
  onDump(handler: () => void): void;
  /** SIGUSR2: reopen the log file. */
  onReopenLog(handler: () => void): void;
}

/** The part of a process that this module needs. */
export interface SignalSource {
  on(signal: NodeJS.Signals, listener: () => void): unknown;
  off(signal: NodeJS.Signals, listener: () => void): unknown;
}

export interface SignalOptions {
  readonly source: SignalSource;
  readonly log: Log;
  /** Called when SIGUSR1 has its first handler: Node may have to be made to receive it. */
  readonly receiveSigusr1?: () => void;
  /** Ends the process; called when everything is closed, or when closing takes too long. */
  readonly exit: (code: number) => void;
  /** The longest that closing may take after SIGTERM. */
  readonly terminateLimitMs: number;
}

const INTERRUPT_LIMIT_MS = 1_000;
/** npm passes on what the terminal has already sent: a signal this soon after the first is the same one. */
const SAME_REQUEST_MS = 250;

/** The signal handling of one process. */
export class SignalHandling implements Signals {
  readonly #options: SignalOptions;
  readonly #terminate: ((signal: TerminationSignal) => Promise<void> | void)[] = [];
  readonly #reload: (() => void)[] = [];
  readonly #dump: (() => void)[] = [];
  readonly #reopenLog: (() => void)[] = [];
  readonly #listeners: readonly (readonly [NodeJS.Signals, () => void])[];
  #terminatingSinceMs: number | undefined;

  constructor(options: SignalOptions) {
    this.#options = options;
    this.#listeners = [
      ['SIGTERM', () => void this.#end('SIGTERM', options.terminateLimitMs)],
      ['SIGINT', () => void this.#end('SIGINT', INTERRUPT_LIMIT_MS)],
      ['SIGHUP', () => this.#call('SIGHUP', this.#reload)],
      ['SIGUSR1', () => this.#call('SIGUSR1', this.#dump)],
      ['SIGUSR2', () => this.#call('SIGUSR2', this.#reopenLog)],
    ];
    for (const [signal, listener] of this.#listeners) options.source.on(signal, listener);
  }

  onTerminate(handler: (signal: TerminationSignal) => Promise<void> | void): void {
    this.#terminate.push(handler);
  }

  onReload(handler: () => void): void {
    this.#reload.push(handler);
  }

  onDump(handler: () => void): void {
    this.#dump.push(handler);
    if (this.#dump.length === 1) this.#options.receiveSigusr1?.();
  }

  onReopenLog(handler: () => void): void {
    this.#reopenLog.push(handler);
  }

  /** Removes the listeners. */
  close(): void {
    for (const [signal, listener] of this.#listeners) this.#options.source.off(signal, listener);
  }

  async #end(signal: TerminationSignal, limitMs: number): Promise<void> {
    const { log, exit } = this.#options;
    if (this.#terminatingSinceMs !== undefined) {
      if (performance.now() - this.#terminatingSinceMs < SAME_REQUEST_MS) return;
      log.warn(`${signal} again, ending immediately`);
      exit(0);
      return;
    }
    this.#terminatingSinceMs = performance.now();
    log.info(`${signal}, closing`);
    let limit: NodeJS.Timeout | undefined;
    const isLate = new Promise<boolean>((resolve) => (limit = setTimeout(resolve, limitMs, true)));
    const handlers = this.#terminate.map((handler) => this.#close(signal, handler));
    if (await Promise.race([Promise.all(handlers).then(() => false), isLate])) {
      log.warn(`not closed after ${limitMs} ms, ending now`);
    }
    clearTimeout(limit);
    exit(0);
  }

  async #close(
    signal: TerminationSignal,
    handler: (signal: TerminationSignal) => Promise<void> | void,
  ): Promise<void> {
    try {
      await handler(signal);
    } catch (error) {
      this.#options.log.error(`closing: ${errorText(error)}`);
    }
  }

  #call(signal: string, handlers: readonly (() => void)[]): void {
    const { log } = this.#options;
    if (handlers.length === 0) log.info(`${signal}, nothing to do`);
    for (const handler of handlers) {
      try {
        handler();
      } catch (error) {
        log.error(`${signal}: ${errorText(error)}`);
      }
    }
  }
}
