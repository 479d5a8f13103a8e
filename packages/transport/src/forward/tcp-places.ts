/** Waits for a place. */
export interface PlaceWaiter {
  /** The place that it waited for is its own from now on. */
  onPlace(): void;
}

/** Of all places, one server may have this part: another that is slow does not take them all. */
const PART_OF_SERVER = 1 / 2;

/** The connections over TCP to all upstream servers: beyond the limit a question waits for a place. */
export class TcpPlaces {
  readonly #most: number;
  readonly #mostOfServer: number;
  #taken = 0;
  /** The servers for which somebody waits, in the order of their turns. */
  readonly #queue = new Set<ServerPlaces>();
  #isGiving = false;

  constructor(most: number) {
    this.#most = most;
    this.#mostOfServer = Math.max(1, Math.floor(most * PART_OF_SERVER));
  }

  /** For ServerPlaces: takes a place if one is free. */
  take(server: ServerPlaces): boolean {
    if (this.#taken >= this.#most || server.taken >= this.#mostOfServer) return false;
    this.#taken++;
    server.taken++;
    return true;
  }

  /** For ServerPlaces: whether a question waits for a place. */
  queue(server: ServerPlaces): void {
    if (server.waiting > 0) this.#queue.add(server);
    else this.#queue.delete(server);
  }

  /** For ServerPlaces: a place is free, for the server whose turn it is. */
  release(server: ServerPlaces): void {
    this.#taken--;
    server.taken--;
    // Who gets a place may give it back during the call.
    if (this.#isGiving) return;
    this.#isGiving = true;
    while (this.#giveOne()) continue;
    this.#isGiving = false;
  }

  #giveOne(): boolean {
    for (const server of this.#queue) {
      if (!this.take(server)) continue;
      this.#queue.delete(server);
      const waiter = server.next();
      this.queue(server);
      waiter.onPlace();
      return true;
    }
    return false;
  }
}

/** The places of one server. */
export class ServerPlaces {
  /** For TcpPlaces: how many it has. */
  taken = 0;
  readonly #all: TcpPlaces;
  #waiters: Set<PlaceWaiter> | undefined;

  constructor(all: TcpPlaces) {
    this.#all = all;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiters?.size ?? 0;
  }

  /** True when a place is free, which is the caller's then; else it waits for one. */
  take(waiter: PlaceWaiter): boolean {
    if (this.#all.take(this)) return true;
    this.#waiters ??= new Set();
    this.#waiters.add(waiter);
    this.#all.queue(this);
    return false;
  }

  /** Gives a place back. */
  release(): void {
    this.#all.release(this);
  }

  /** Waits no longer. */
  leave(waiter: PlaceWaiter): void {
    if (this.#waiters?.delete(waiter) === true) this.#all.queue(this);
  }

  /** For TcpPlaces: who has waited longest; it waits no longer. */
  next(): PlaceWaiter {
    const [waiter] = this.#waiters!;
    this.#waiters!.delete(waiter!);
    return waiter!;
  }
}
