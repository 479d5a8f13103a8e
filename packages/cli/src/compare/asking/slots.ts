/** Bounds the number of tasks in progress. */
export class Slots {
  readonly #max: number;
  readonly #waiting: (() => void)[] = [];
  #used = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Resolves when a slot is free; the caller must give it back. */
  async take(): Promise<void> {
    if (this.#used < this.#max) this.#used++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#used--;
    else next();
  }
}
