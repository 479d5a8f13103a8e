/** How long one resource is without contact with the server. */
export class ServerContact {
  #isConnected = false;
  #lastMs = performance.now();

  /** Whether a watch is open. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** Milliseconds since the last contact; 0 while a watch is open. */
  get awayMs(): number {
    return this.#isConnected ? 0 : performance.now() - this.#lastMs;
  }

  /** Something arrived, by `performance.now()`. */
  note(arrivedMs = performance.now()): void {
    this.#lastMs = arrivedMs;
  }

  /** A watch is open. */
  connect(): void {
    this.#isConnected = true;
    this.note();
  }

  /** The watch is over. `isServerAlive`: the server ended it itself. */
  disconnect(isServerAlive: boolean): void {
    if (this.#isConnected && isServerAlive) this.note();
    this.#isConnected = false;
  }
}
