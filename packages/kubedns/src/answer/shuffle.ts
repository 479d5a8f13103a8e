const FIRST_CAPACITY = 64;

/** Random orders of records, all permutations equally likely, without an allocation per query. */
export class Shuffle {
  readonly #random: () => number;
  #order = new Uint32Array(FIRST_CAPACITY);

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** The numbers below `count` in random order; valid until the next call. */
  order(count: number): Uint32Array {
    if (count > this.#order.length) this.#order = new Uint32Array(count * 2);
    const order = this.#order;
    for (let i = 0; i < count; i++) {
      const j = Math.floor(this.#random() * (i + 1));
      order[i] = order[j]!;
      order[j] = i;
    }
    return order;
  }
}
