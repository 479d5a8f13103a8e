/** Numbers that follow from a seed: the same seed gives the same ones, on every machine (xorshift32). */
export class Random {
  #state: number;

  /** The text makes different numbers of the same seed for different uses. */
  constructor(seed: number, text = '') {
    let state = seed ^ 0x811c9dc5;
    for (let i = 0; i < text.length; i++) {
      state = Math.imul(state ^ text.charCodeAt(i), 0x01000193);
    }
    // From 0 there would never come anything else.
    this.#state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) || 1;
  }

  /** 32 bits, unsigned. */
  next(): number {
    let state = this.#state;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#state = state;
    return state >>> 0;
  }

  /** A whole number from 0 up to `limit` - 1; 0 for a limit of 0. */
  below(limit: number): number {
    return limit <= 1 ? 0 : this.next() % limit;
  }

  isOneIn(count: number): boolean {
    return this.below(count) === 0;
  }

  /** One of a list that has some. */
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
}
