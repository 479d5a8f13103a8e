/** Wakes those who wait until questions have ended. */
export class IdleSignal {
  readonly #waiting = new Set<() => void>();

  /** Resolves with the next call of `notify`. */
  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  notify(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
