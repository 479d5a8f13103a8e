/** Wakes those who wait until questions have ended. */
export class IdleSignal {
  readonly #waiting = new Set<() => void>();

  /** Resolves when the condition holds at a call of `notify`, or holds now. */
  async until(isMet: () => boolean): Promise<void> {
    while (!isMet()) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  notify(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
