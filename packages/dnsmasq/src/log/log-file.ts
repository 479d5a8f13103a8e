import { close, constants, open, openSync, write } from 'node:fs';
import { StartupError } from '@kube-dns/daemon';
import { EXIT_BAD_FILE, systemText } from '../errors.js';

export interface LogFileOptions {
  readonly path: string;
  /** Receives the lines that could not be written, each with its line feed. */
  readonly fallback: (line: string) => void;
  /** A monotonic clock in milliseconds; the process's unless given. */
  readonly now?: () => number;
}

/** A pipe without a reader fails immediately instead of blocking. */
const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NONBLOCK;
const MODE = 0o640;
/** Bytes that may wait for a slow disk; more goes to the fallback. */
const MAX_WAITING_CHARACTERS = 256 * 1024;
/** How long a file that failed is not retried. */
const RETRY_MS = 5_000;

/**
 * A log file that lines are appended to, off the main thread (`--log-facility`). What cannot be written,
 * for a full disk, say, goes to the fallback; after a while the file is tried again.
 */
export class LogFile {
  readonly #options: LogFileOptions;
  #fd: number;
  #waiting: string[] = [];
  #waitingCharacters = 0;
  #isWriting = false;
  #isClosed = false;
  #retryAtMs = Number.NEGATIVE_INFINITY;
  #onIdle: () => void = () => undefined;
  /** The file that is written; -1 is none. */
  #next = -1;

  /** Throws a StartupError in dnsmasq's words when the file cannot be opened. */
  constructor(options: LogFileOptions) {
    this.#options = options;
    try {
      this.#fd = openSync(options.path, FLAGS, MODE);
    } catch (error) {
      throw new StartupError(
        `cannot open log ${options.path}: ${systemText(error)}`,
        EXIT_BAD_FILE,
      );
    }
  }

  /** Takes one line with its line feed. */
  write(line: string): void {
    const isFull = this.#waitingCharacters + line.length > MAX_WAITING_CHARACTERS;
    if (this.#isClosed || isFull || this.#now() < this.#retryAtMs) {
      this.#options.fallback(line);
      return;
    }
    this.#waiting.push(line);
    this.#waitingCharacters += line.length;
    if (!this.#isWriting) this.#writeWaiting();
  }

  /** Opens the path again, for log rotation; the previous file stays in use when that fails. */
  reopen(): void {
    if (this.#isClosed) return;
    open(this.#options.path, FLAGS, MODE, (error, fd) => {
      if (error !== null) {
        this.#complain('cannot open log', error);
        return;
      }
      if (this.#isClosed) closeQuietly(fd);
      else this.#goOnIn(fd);
    });
  }

  /** Resolves once what was written is in the file; later lines go to the fallback. May be called twice. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#isWriting) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    closeQuietly(this.#fd);
  }

  /** The write in progress goes to the previous file. */
  #goOnIn(fd: number): void {
    if (this.#next >= 0) closeQuietly(this.#next);
    this.#next = fd;
    if (!this.#isWriting) this.#takeNext();
  }

  #takeNext(): void {
    if (this.#next < 0) return;
    closeQuietly(this.#fd);
    this.#fd = this.#next;
    this.#next = -1;
    this.#retryAtMs = Number.NEGATIVE_INFINITY;
  }

  #writeWaiting(): void {
    const lines = this.#waiting.splice(0);
    this.#waitingCharacters = 0;
    this.#isWriting = true;
    this.#writeAll(Buffer.from(lines.join('')), (error) => {
      this.#isWriting = false;
      if (error !== null) this.#giveUp(error, lines);
      this.#takeNext();
      if (this.#waiting.length > 0) this.#writeWaiting();
      else this.#onIdle();
    });
  }

  /** The system may write less than requested. */
  #writeAll(bytes: Buffer, done: (error: Error | null) => void): void {
    write(this.#fd, bytes, (error, written) => {
      if (error === null && written < bytes.length) this.#writeAll(bytes.subarray(written), done);
      else done(error);
    });
  }

  #giveUp(error: Error, lines: readonly string[]): void {
    this.#retryAtMs = this.#now() + RETRY_MS;
    this.#complain('cannot write log', error);
    for (const line of [...lines, ...this.#waiting.splice(0)]) this.#options.fallback(line);
    this.#waitingCharacters = 0;
  }

  #complain(what: string, error: Error): void {
    this.#options.fallback(`${what} ${this.#options.path}: ${systemText(error)}\n`);
  }

  #now(): number {
    return this.#options.now?.() ?? performance.now();
  }
}

function closeQuietly(fd: number): void {
  close(fd, () => {
    /* what was in the file is in the file */
  });
}
