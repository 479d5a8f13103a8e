import type { ServerResponse } from 'node:http';
import { jsonLength } from './json-length.js';

/** One line of a watch. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: unknown;
}

/** An event that is encoded only when it can be sent. */
export type LazyEvent = () => WatchEvent;

/** The limit of a stream, and a callback for its end. */
export interface WatchStreamOptions {
  /** Events that may wait for the client; one more ends the stream. */
  readonly queueLimit: number;
  /** The same of the bytes of their objects. */
  readonly queueBytes: number;
  readonly onClose: () => void;
}

interface WaitingEvent {
  readonly event: LazyEvent;
  /** Counted only if the event cannot be sent at once. */
  bytes: number;
}

/**
 * The answer to a watch: JSON lines, no faster than the client reads. The connection of a client
 * that is too slow is broken, so that its memory is bounded; the client lists again.
 */
export class WatchStream {
  readonly #response: ServerResponse;
  readonly #queueLimit: number;
  readonly #queueBytes: number;
  readonly #initial: Iterator<LazyEvent>;
  #queue: WaitingEvent[] = [];
  #waitingBytes = 0;
  #isBlocked = false;
  #isSilent = false;
  #isEnding = false;
  #isClosed = false;

  constructor(
    response: ServerResponse,
    initial: Iterable<LazyEvent>,
    { queueLimit, queueBytes, onClose }: WatchStreamOptions,
  ) {
    this.#response = response;
    this.#queueLimit = queueLimit;
    this.#queueBytes = queueBytes;
    this.#initial = initial[Symbol.iterator]();
    response.on('drain', () => {
      this.#isBlocked = false;
      this.#pump();
    });
    response.once('close', () => {
      this.#isClosed = true;
      this.#queue = [];
      onClose();
    });
  }

  /** Sends the head and the initial events. */
  start(): void {
    this.#response.writeHead(200, { 'content-type': 'application/json' });
    this.#response.flushHeaders();
    this.#pump();
  }

  /** Sends an event, which holds `object`, as soon as the client has read the events before it. */
  push(event: LazyEvent, object?: object): void {
    if (this.#isClosed || this.#isEnding) return;
    const waiting = { event, bytes: 0 };
    this.#queue.push(waiting);
    this.#pump();
    if (this.#queue.length === 0) return;
    waiting.bytes = object ? jsonLength(object) : 0;
    this.#waitingBytes += waiting.bytes;
    if (this.#queue.length > this.#queueLimit || this.#waitingBytes > this.#queueBytes) {
      this.destroy();
    }
  }

  /** A silent stream holds its events back until it is no longer silent. */
  setSilent(isSilent: boolean): void {
    this.#isSilent = isSilent;
    this.#pump();
  }

  /** Ends the answer in order, or breaks the connection while the client has events to read. */
  end(): void {
    this.#isEnding = true;
    if (this.#isSilent) return;
    this.#pump();
    if (!this.#isClosed && this.#isBlocked) this.destroy();
  }

  /** Breaks the connection. */
  destroy(): void {
    this.#response.destroy();
  }

  get #canWrite(): boolean {
    return !this.#isBlocked && !this.#isSilent && !this.#isClosed;
  }

  #pump(): void {
    while (this.#canWrite) {
      const next = this.#initial.next();
      if (next.done) break;
      this.#write(next.value);
    }
    let sent = 0;
    while (this.#canWrite && sent < this.#queue.length) {
      const { event, bytes } = this.#queue[sent++]!;
      this.#waitingBytes -= bytes;
      this.#write(event);
    }
    this.#queue.splice(0, sent);
    if (this.#isEnding && this.#canWrite) this.#response.end();
  }

  #write(event: LazyEvent): void {
    this.#isBlocked = !this.#response.write(`${JSON.stringify(event())}\n`);
  }
}
