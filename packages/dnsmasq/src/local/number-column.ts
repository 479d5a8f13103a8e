const FIRST_NUMBERS = 256;

/**
 * A list of whole numbers of 31 bits. It is outside the heap that the garbage collector walks, and growing is
 * one copy: a million numbers take a millisecond.
 */
export class NumberColumn {
  #numbers = new Int32Array(FIRST_NUMBERS);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The number at an index below `length`. */
  at(index: number): number {
    return this.#numbers[index]!;
  }

  set(index: number, number: number): void {
    this.#numbers[index] = number;
  }

  /** Adds a number and returns its index. */
  push(number: number): number {
    if (this.#length === this.#numbers.length) {
      const larger = new Int32Array(this.#length * 2);
      larger.set(this.#numbers);
      this.#numbers = larger;
    }
    this.#numbers[this.#length] = number;
    return this.#length++;
  }
}
