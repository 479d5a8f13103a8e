import { MeasureError } from '../errors.js';

const LIMIT_MS = 60_000;

/** A queue of received items, in order. */
export class Inbox<T> {
  readonly #items: T[] = [];
  readonly #waiters: ((item: T) => void)[] = [];

  /** Number of items in the queue. */
  get length(): number {
    return this.#items.length;
  }

  push(item: T): void {
    const waiter = this.#waiters.shift();
    if (waiter === undefined) this.#items.push(item);
    else waiter(item);
  }

  /** The next item; rejects with a MeasureError when none arrives within `limitMs`. */
  next(limitMs = LIMIT_MS): Promise<T> {
    const item = this.#items.shift();
    if (item !== undefined) return Promise.resolve(item);
    return new Promise((resolve, reject) => {
      const waiter = (arrived: T) => {
        clearTimeout(timer);
        resolve(arrived);
      };
      const timer = setTimeout(() => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        reject(new MeasureError(`nothing arrived within ${limitMs / 1_000} s`));
      }, limitMs);
      this.#waiters.push(waiter);
    });
  }

  async take(count: number): Promise<T[]> {
    const items: T[] = [];
    while (items.length < count) items.push(await this.next());
    return items;
  }
}
