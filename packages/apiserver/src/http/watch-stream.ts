import type { ServerResponse } from 'node:http';

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
  readonly onClose: () => void;
}

/**
 * The answer to a watch: JSON lines, no faster than the client reads. The connection of a client
 * that is too slow is broken, so that its memory is bounded; the client lists again.
 */
export class WatchStream {
  readonly #response: ServerResponse;
  readonly #queueLimit: number;
  readonly #initial: Iterator<LazyEvent>;
  #queue: LazyEvent[] = [];
  #isBlocked = false;
  #isSilent = false;
  #isEnding = false;
  #isClosed = false;

  constructor(
    response: ServerResponse,
    initial: Iterable<LazyEvent>,
    { queueLimit, onClose }: WatchStreamOptions,
  ) {
    this.#response = response;
    this.#queueLimit = queueLimit;
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

  /** Sends an event as soon as the client has read the events before it. */
  push(event: LazyEvent): void {
    if (this.#isClosed || this.#isEnding) return;
    this.#queue.push(event);
    this.#pump();
    if (this.#queue.length > this.#queueLimit) this.destroy();
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
    while (this.#canWrite && sent < this.#queue.length) this.#write(this.#queue[sent++]!);
    this.#queue.splice(0, sent);
    if (this.#isEnding && this.#canWrite) this.#response.end();
  }

  #write(event: LazyEvent): void {
    this.#isBlocked = !this.#response.write(`${JSON.stringify(event())}\n`);
  }
}
