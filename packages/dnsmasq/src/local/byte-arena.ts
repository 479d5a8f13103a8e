/** A piece is in one block, so it is shorter than this. */
const BLOCK_BITS = 16;
const BLOCK_BYTES = 1 << BLOCK_BITS;
const OFFSET_MASK = BLOCK_BYTES - 1;

/**
 * Short pieces of bytes, stored in large blocks: a separate array would cost 100 bytes for each. Pieces are
 * added, and only released all together.
 */
export class ByteArena {
  readonly #blocks: Uint8Array[] = [];
  #used = BLOCK_BYTES;

  /** Stores a copy of a piece and returns its place. */
  put(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    if (this.#used + length > BLOCK_BYTES) {
      this.#blocks.push(new Uint8Array(BLOCK_BYTES));
      this.#used = 0;
    }
    const block = this.#blocks.length - 1;
    const target = this.#blocks[block]!;
    const at = this.#used;
    for (let i = 0; i < length; i++) target[at + i] = bytes[start + i]!;
    this.#used += length;
    return block * BLOCK_BYTES + at;
  }

  /** Whether the piece at a place is these bytes. */
  isAt(place: number, bytes: Uint8Array, start: number, end: number): boolean {
    const block = this.#blocks[place >>> BLOCK_BITS]!;
    const at = place & OFFSET_MASK;
    for (let i = start; i < end; i++) if (block[at + i - start] !== bytes[i]) return false;
    return true;
  }

  /** Copies the piece at a place into `out`, which is as long as the piece. */
  copy(place: number, out: Uint8Array): void {
    const block = this.#blocks[place >>> BLOCK_BITS]!;
    const at = place & OFFSET_MASK;
    for (let i = 0; i < out.length; i++) out[i] = block[at + i]!;
  }
}
