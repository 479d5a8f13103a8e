const MIN_SLOTS = 8;

/**
 * A hash table (open addressing) of numbers of entries that the caller stores. For a look-up the caller
 * walks from the slot of a hash to the matching number or an empty slot. At most half of it is full.
 */
export class SlotTable {
  /** The number plus one, or 0. */
  readonly #slots: Int32Array;
  readonly #mask: number;

  /** Holds up to `capacity` numbers. */
  constructor(capacity: number) {
    let slots = MIN_SLOTS;
    while (slots < capacity * 2) slots *= 2;
    this.#slots = new Int32Array(slots);
    this.#mask = slots - 1;
  }

  start(hash: number): number {
    return (hash ^ (hash >>> 15)) & this.#mask;
  }

  next(slot: number): number {
    return (slot + 1) & this.#mask;
  }

  /** The number in a slot; -1 in an empty one. */
  at(slot: number): number {
    return this.#slots[slot]! - 1;
  }

  put(slot: number, number: number): void {
    this.#slots[slot] = number + 1;
  }
}
