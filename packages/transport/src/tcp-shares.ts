/** Time for queries over TCP in one turn of the event loop: datagrams have the loop back after so long. */
const TURN_MS = 2;
/** What all clients together may leave unread, before each has the least. */
const ALL_UNSENT_BYTES = 16 * 1024 * 1024;
const MIN_UNSENT_BYTES = 16 * 1024;
const MAX_UNSENT_BYTES = 256 * 1024;
/** What may be held for all clients together, of what they sent and of what they are to read. */
const ALL_HELD_BYTES = 16 * 1024 * 1024;

/** Something that goes on reading when it is its turn. */
export interface Reading {
  readOn(): void;
}

/**
 * What the connections of one listener share, so that no number of them takes the event loop or the
 * memory from others: the time of each turn of the loop, and the bytes of answers that wait for clients.
 */
export class TcpShares {
  /** Connections among which it is shared. */
  connections = 0;
  /** Bytes that are held for all of them. */
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

  /** A client that leaves so many bytes unread is read from no further. */
  get unsentBytes(): number {
    const share = ALL_UNSENT_BYTES / Math.max(1, this.connections);
    return Math.min(MAX_UNSENT_BYTES, Math.max(MIN_UNSENT_BYTES, share));
  }

  /**
   * Tells whether a connection is to be cut off that holds so many bytes: all together hold too much,
   * and it more than an equal part. So they never hold more than twice what they may.
   */
  isTooMuch(bytes: number): boolean {
    return this.heldBytes > ALL_HELD_BYTES && bytes > ALL_HELD_BYTES / this.connections;
  }

  /** Tells whether there is time for one query more in this turn of the loop. */
  hasTime(): boolean {
    const nowMs = this.#now();
    if (!this.#isCounting) {
      this.#isCounting = true;
      this.#endMs = nowMs + TURN_MS;
      setImmediate(this.#next);
    }
    return nowMs < this.#endMs;
  }

  /** Lets a connection go on in a later turn, behind all that wait already. */
  wait(reading: Reading): void {
    this.#waiting.add(reading);
    // So that there is a later turn.
    this.hasTime();
  }

  /** It is closed, and has nothing to go on with. */
  leave(reading: Reading): void {
    this.#waiting.delete(reading);
  }

  #turn(): void {
    this.#isCounting = false;
    // One that is not through stands at the end again.
    for (const reading of this.#waiting) {
      if (!this.hasTime()) return;
      this.#waiting.delete(reading);
      reading.readOn();
    }
  }
}
