/**
 * Lines that wait to be written, in bounded memory. Each is in one piece, and so is what is taken:
 *
 *     |  next lines  |  free  |  lines that were written first  |  unused  |
 *     0              head     tail                              end
 *
 * Before it wraps, the lines are those from tail to head. A line that may not fit the end starts at 0.
 */
export class LineRing {
  readonly bytes: Uint8Array;
  readonly #capacity: number;
  #head = 0;
  #tail = 0;
  #end = 0;
  #isWrapped = false;

  constructor(capacity: number) {
    this.bytes = new Uint8Array(capacity);
    this.#capacity = capacity;
  }

  /** Where a line of up to `maxBytes` may be written now, to be followed by `commit`; -1 when it is too full. */
  reserve(maxBytes: number): number {
    const end = this.#head + maxBytes;
    if (this.#isWrapped) return end <= this.#tail ? this.#head : -1;
    if (end <= this.#capacity) return this.#head;
    if (maxBytes > this.#tail) return -1;
    this.#end = this.#head;
    this.#head = 0;
    this.#isWrapped = true;
    return 0;
  }

  /** The line that was reserved ends here. */
  commit(end: number): void {
    this.#head = end;
  }

  /** All bytes that wait. */
  get waitingBytes(): number {
    return this.#isWrapped ? this.#end - this.#tail + this.#head : this.#head - this.#tail;
  }

  /** Where the first bytes that wait begin, and how many are in one piece from there. */
  get start(): number {
    return this.#tail;
  }

  get pieceBytes(): number {
    return (this.#isWrapped ? this.#end : this.#head) - this.#tail;
  }

  /** All that waits. */
  pieces(): readonly Uint8Array[] {
    const first = this.bytes.subarray(this.#tail, this.#tail + this.pieceBytes);
    return this.#isWrapped ? [first, this.bytes.subarray(0, this.#head)] : [first];
  }

  /** The first `count` bytes have been written; no more than a piece. */
  release(count: number): void {
    this.#tail += count;
    if (this.#isWrapped && this.#tail === this.#end) {
      this.#tail = 0;
      this.#isWrapped = false;
    }
    if (!this.#isWrapped && this.#tail === this.#head) this.#tail = this.#head = 0;
  }
}
