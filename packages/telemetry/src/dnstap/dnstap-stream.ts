import { systemReason } from '@kube-dns/base';
import type { Log } from '@kube-dns/daemon';
import { DnstapConnection } from './dnstap-connection.js';
import { type DnstapTarget, targetText } from './dnstap-target.js';
import { FrameQueue } from './frame-queue.js';

export interface DnstapStreamOptions {
  readonly target: DnstapTarget;
  /** What may wait for the reader, in bytes; 1 MiB unless given. */
  readonly maxBytes?: number;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

const MAX_QUEUED_BYTES = 1024 * 1024;
/** How long until the next try after a failure; twice as long each time, 30 s at most. */
const RETRY_MS = 500;
/** How long a reader may take to accept the stream. */
const HANDSHAKE_MS = 5_000;
/** How long a reader that comes after one that went soon must read until the log says so. */
const STEADY_MS = 10_000;
const MAX_RETRY_MS = 30_000;
/** What waits is written so often. */
const FLUSH_MS = 100;
/** A reader has this long to take the last messages. */
const CLOSE_MS = 500;

/**
 * Brings frames to a reader, or into a file. Nothing waits for the reader: while there is none, or it reads too slowly,
 * frames are dropped and counted; the connection is tried again.
 */
export class DnstapStream {
  /** Messages that the system took for the reader. */
  written = 0;
  readonly #options: DnstapStreamOptions;
  readonly #queue: FrameQueue;
  readonly #place: string;
  #connection: DnstapConnection | undefined;
  #isOpen = false;
  #isFull = false;
  #lost = 0;
  #openedAtMs = 0;
  #retryMs = RETRY_MS;
  #timer: NodeJS.Timeout | undefined;
  #flush: NodeJS.Timeout | undefined;
  /** Why there was no connection, as the log has it since messages were sent last; each reason is logged once. */
  readonly #logged = new Set<string>();
  /** Until the reader has read for some time. */
  #steadying: NodeJS.Timeout | undefined;
  /** The last reader went before that. */
  #isUnsteady = false;
  #ended: Promise<void> | undefined;
  #onEnded: () => void = () => undefined;

  constructor(options: DnstapStreamOptions) {
    const { target, maxBytes = MAX_QUEUED_BYTES } = options;
    this.#options = options;
    this.#place = `dnstap ${targetText(target)}`;
    this.#queue = new FrameQueue(maxBytes);
    this.#connect();
  }

  /** Messages that no reader got, as far as is known. */
  get dropped(): number {
    return this.#queue.dropped + this.#lost;
  }

  /** Whether there is a reader. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether there is room for a message; for one that is not made for want of it `drop` is called. */
  get hasRoom(): boolean {
    return this.#queue.hasRoom;
  }

  drop(): void {
    this.#lost++;
  }

  /** Sends a frame soon, or drops it; copies it. */
  send(frame: Uint8Array): void {
    this.#queue.push(frame);
    if (this.#queue.isBlockFull && this.#isOpen && !this.#isFull) this.#pump();
    else this.#flush ??= setTimeout(() => this.#pump(), FLUSH_MS).unref();
  }

  /** Writes what waits, half a second long at most, and ends. May be called twice. */
  async close(): Promise<void> {
    this.#ended ??= new Promise((resolve) => {
      this.#onEnded = resolve;
    });
    clearTimeout(this.#timer);
    this.#pump();
    if (!this.#isOpen) this.#connection?.close();
    const connection = this.#connection;
    if (connection !== undefined) {
      const limit = setTimeout(this.#onEnded, CLOSE_MS);
      await this.#ended;
      clearTimeout(limit);
      connection.close();
    }
    for (let left = this.#queue.take(); left !== undefined; left = this.#queue.take()) {
      this.#lost += left.frames;
    }
  }

  #connect(): void {
    const { target } = this.#options;
    this.#connection = new DnstapConnection(target, HANDSHAKE_MS, {
      onOpen: () => {
        this.#isOpen = true;
        this.#openedAtMs = performance.now();
        if (!this.#isUnsteady) this.#logOpen();
        this.#steadying = setTimeout(() => this.#noteSteady(), STEADY_MS).unref();
        this.#pump();
      },
      onDrained: () => {
        this.#isFull = false;
        this.#pump();
      },
      onEnd: (error) => this.#noteEnd(error),
    });
  }

  #noteSteady(): void {
    this.#steadying = undefined;
    if (this.#isUnsteady) this.#logOpen();
    this.#isUnsteady = false;
  }

  #logOpen(): void {
    this.#logged.clear();
    this.#options.log.info(`${this.#place}: messages are sent`);
  }

  /** Writes what waits, as far as the connection takes it. */
  #pump(): void {
    clearTimeout(this.#flush);
    this.#flush = undefined;
    while (this.#isOpen && !this.#isFull) {
      const block = this.#queue.take();
      if (block === undefined) break;
      const { bytes, frames } = block;
      this.#isFull = !this.#connection!.write(bytes, (error) => {
        if (error) this.#lost += frames;
        else this.written += frames;
      });
    }
    const isLast = this.#ended !== undefined && this.#queue.isEmpty;
    if (isLast && this.#isOpen) this.#connection!.finish();
  }

  #noteEnd(error: Error | undefined): void {
    const { log, target } = this.#options;
    const wasOpen = this.#isOpen;
    if (wasOpen) this.#isUnsteady = this.#steadying !== undefined;
    clearTimeout(this.#steadying);
    this.#steadying = undefined;
    this.#connection = undefined;
    this.#isOpen = this.#isFull = false;
    this.#onEnded();
    if (this.#ended !== undefined || error === undefined) return;
    const reason = systemReason(error);
    // To open the file again would empty it.
    const isLast = wasOpen && target.kind === 'file';
    const then = isLast ? 'nothing more is written' : 'messages are dropped until that is mended';
    if (!this.#logged.has(reason)) log.warn(`${this.#place}: ${reason}; ${then}`);
    this.#logged.add(reason);
    if (isLast) return;
    const wasLong = wasOpen && performance.now() - this.#openedAtMs >= MAX_RETRY_MS;
    const waitMs = wasLong ? RETRY_MS : this.#retryMs;
    this.#timer = setTimeout(() => this.#connect(), waitMs).unref();
    this.#retryMs = Math.min(2 * waitMs, MAX_RETRY_MS);
  }
}
