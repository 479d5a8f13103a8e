/** Waits for its turn to open a connection. */
export interface HandshakeWaiter {
  /** Its turn: it calls `release` when the handshake is over. */
  onTurn(): void;
}

/** A handshake is 1–2 ms of work for this process: so many at a time. */
const MAX_HANDSHAKES = 2;
/** One whose server says nothing for so long is no work; it does not hold up the others. */
const MAX_TURN_MS = 250;

/** Whose turn it is to open a connection: at most two TLS handshakes run at a time. */
export class HandshakePlaces {
  /** Since when each of them runs. */
  readonly #running = new Map<HandshakeWaiter, number>();
  readonly #queue = new Set<HandshakeWaiter>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Calls the waiter in its turn, which may be at once. */
  take(waiter: HandshakeWaiter): void {
    this.#queue.add(waiter);
    this.#serve();
  }

  /** The waiter does not wait, or its handshake is over. */
  release(waiter: HandshakeWaiter): void {
    this.#queue.delete(waiter);
    if (this.#running.delete(waiter)) this.#serve();
  }

  /** Ends the turns that are too long. */
  tick(): void {
    const nowMs = this.#now();
    for (const [waiter, sinceMs] of this.#running) {
      if (nowMs - sinceMs >= MAX_TURN_MS) this.#running.delete(waiter);
    }
    this.#serve();
  }

  #serve(): void {
    for (const waiter of this.#queue) {
      if (this.#running.size >= MAX_HANDSHAKES) return;
      this.#queue.delete(waiter);
      this.#running.set(waiter, this.#now());
      waiter.onTurn();
    }
  }
}
