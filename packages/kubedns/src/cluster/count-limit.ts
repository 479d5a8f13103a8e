import type { ObjectReading } from './object-reading.js';

/** Takes the first items of an object's lists, as many as are used, and counts the others. */
export class CountLimit {
  readonly #what: string;
  readonly #max: number;
  #taken = 0;
  #others = 0;

  /** `what` names the items in the log, as `endpoints`. */
  constructor(what: string, max: number) {
    this.#what = what;
    this.#max = max;
  }

  /** Those of the list that are used. */
  take<T>(items: readonly T[]): readonly T[] {
    const taken = items.slice(0, this.#max - this.#taken);
    this.#taken += taken.length;
    this.#others += items.length - taken.length;
    return taken;
  }

  /** Reports the others, after all lists. */
  report({ onRejected }: ObjectReading): void {
    if (this.#others > 0) onRejected(`${this.#others} more ${this.#what} than ${this.#max}`);
  }
}
