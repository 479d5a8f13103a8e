/** Time for queries over TCP in one turn of the event loop: after it, datagrams are received. */
const TURN_MS = 2;
/** What all clients together may leave unread, until each has the minimum. */
const ALL_UNSENT_BYTES = 16 * 1024 * 1024;
const MIN_UNSENT_BYTES = 16 * 1024;
const MAX_UNSENT_BYTES = 256 * 1024;
/** Memory for all clients together: what they sent and what they have to read. */
const ALL_HELD_BYTES = 16 * 1024 * 1024;

/** Reads on when it is its turn. */
export interface Reading {
  readOn(): void;
}

/**
 * What the connections of one listener share, so that no number of them takes the event loop or the
 * memory from others: the time of each turn of the loop, and the bytes of answers that wait for clients.
 */
export class TcpShares {
  /** Connections that share. */
  connections = 0;
  /** Bytes held for all of them. */
  heldBytes = 0;
  /** In order of their turn. */
  readonly #waiting = new Set<Reading>();
  readonly #now: () => number;
  #isCounting = false;
  #endMs = 0;
  readonly #next = (): void => this.#turn();

  /** `now`: milliseconds that never fall. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Reading from a client stops while it leaves more bytes than this unread. */
  get unsentBytes(): number {
    const share = ALL_UNSENT_BYTES / Math.max(1, this.connections);
    return Math.min(MAX_UNSENT_BYTES, Math.max(MIN_UNSENT_BYTES, share));
  }

  /**
   * Whether a connection that holds `bytes` must be cut off: all together hold too much, and it holds more
   * than an equal part. So they never hold more than twice the limit.
   */
  isTooMuch(bytes: number): boolean {
    return this.heldBytes > ALL_HELD_BYTES && bytes > ALL_HELD_BYTES / this.connections;
  }

  /** Whether there is time for one more query in this turn of the loop. */
  hasTime(): boolean {
    const nowMs = this.#now();
    if (!this.#isCounting) {
      this.#isCounting = true;
      this.#endMs = nowMs + TURN_MS;
      setImmediate(this.#next);
    }
    return nowMs < this.#endMs;
  }

  /** Lets a connection continue in a later turn, after all that already wait. */
  wait(reading: Reading): void {
    this.#waiting.add(reading);
    // So that there is a later turn.
    this.hasTime();
  }

  /** The connection is closed and waits no longer. */
  leave(reading: Reading): void {
    this.#waiting.delete(reading);
  }

  #turn(): void {
    this.#isCounting = false;
    // One that is not finished waits at the end again.
    for (const reading of this.#waiting) {
      if (!this.hasTime()) return;
      this.#waiting.delete(reading);
      reading.readOn();
    }
  }
}
