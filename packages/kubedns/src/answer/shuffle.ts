/** Up to this many records are shuffled in an array. */
const MAX_DENSE = 64;
/** Limit of the numbers that are drawn for one answer: of the shortest record, an A, no message holds half as many. */
export const MAX_DRAWS = 8_192;
const SLOTS = 2 * MAX_DRAWS;
const MASK = SLOTS - 1;

/**
 * Draws the numbers below a count in random order, all orders equally likely, without an allocation per
 * query. Its work depends on how many are drawn, not on the count: what does not fit into an answer costs
 * nothing (a Fisher-Yates shuffle that stores only the numbers that have moved).
 */
export class Shuffle {
  readonly #random: () => number;
  readonly #dense = new Uint8Array(MAX_DENSE);
  #count = 0;
  #drawn = 0;
  /** By slot of a hash table: an index, the number that is there now, and the shuffle that wrote it. */
  #indexes = new Float64Array(0);
  #numbers = new Float64Array(0);
  #writers = new Uint32Array(0);
  #shuffle = 0;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** Starts a shuffle of the numbers below `count`; returns how many of them may be drawn. */
  start(count: number): number {
    this.#count = count;
    this.#drawn = 0;
    if (count <= MAX_DENSE) {
      for (let i = 0; i < count; i++) this.#dense[i] = i;
      return count;
    }
    if (this.#indexes.length === 0) {
      this.#indexes = new Float64Array(SLOTS);
      this.#numbers = new Float64Array(SLOTS);
      this.#writers = new Uint32Array(SLOTS);
    }
    this.#shuffle = (this.#shuffle + 1) >>> 0;
    return Math.min(count, MAX_DRAWS);
  }

  /** The next number. */
  next(): number {
    const from = this.#drawn++;
    const to = from + Math.floor(this.#random() * (this.#count - from));
    if (this.#count <= MAX_DENSE) {
      const dense = this.#dense;
      const drawn = dense[to]!;
      dense[to] = dense[from]!;
      return drawn;
    }
    const slot = this.#slotOf(to);
    const drawn = this.#numberAt(slot, to);
    this.#numbers[slot] = this.#numberAt(this.#slotOf(from), from);
    this.#indexes[slot] = to;
    this.#writers[slot] = this.#shuffle;
    return drawn;
  }

  /** The slot of an index, or the empty one where it belongs. */
  #slotOf(index: number): number {
    let slot = (Math.imul(index | 0, 0x9e37_79b1) >>> 16) & MASK;
    for (; this.#writers[slot] === this.#shuffle; slot = (slot + 1) & MASK) {
      if (this.#indexes[slot] === index) return slot;
    }
    return slot;
  }

  /** The number at an index: the index itself until another was moved there. */
  #numberAt(slot: number, index: number): number {
    return this.#writers[slot] === this.#shuffle ? this.#numbers[slot]! : index;
  }
}
