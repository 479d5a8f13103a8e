import { NONE } from '../none.js';

/** Most cached answers of a cluster, including the name, fit one cell or two. */
const CELL_BYTES = 64;
const CELL_SHIFT = 6;
/** How many cells are allocated together; an empty store allocates nothing. */
const CHUNK_CELLS = 1024;
const CHUNK_SHIFT = 10;

/**
 * Byte strings cut into cells of one size, so that storing and dropping them in any order leaves no
 * holes, and ten thousand of them are a few large buffers instead of ten thousand objects:
 *
 *     first cell ──next──▶ cell ──next──▶ cell ──▶ NONE
 *
 * A string is identified by its first cell; the caller stores its length.
 */
export class CellStore {
  #chunks: Uint8Array[] = [];
  /** By cell: the next one in its string, or in the list of free cells. */
  #next: Int32Array[] = [];
  #free = NONE;
  #used = 0;
  #peak = 0;

  /** Bytes of the cells in use. */
  get usedBytes(): number {
    return this.#used * CELL_BYTES;
  }

  /** The maximum of `usedBytes`. */
  get peakBytes(): number {
    return this.#peak * CELL_BYTES;
  }

  /** Allocated bytes; `clear` releases them. */
  get takenBytes(): number {
    return this.#chunks.length * CHUNK_CELLS * (CELL_BYTES + Int32Array.BYTES_PER_ELEMENT);
  }

  /** The bytes that a string of this length uses. */
  static roundUp(length: number): number {
    return Math.max(CELL_BYTES, (length + CELL_BYTES - 1) & -CELL_BYTES);
  }

  /** Stores a copy of the first `length` bytes; returns the first cell. */
  put(bytes: Uint8Array, length: number): number {
    const first = this.#take();
    let cell = first;
    for (let at = 0; ;) {
      const chunk = this.#chunks[cell >>> CHUNK_SHIFT]!;
      const base = (cell & (CHUNK_CELLS - 1)) << CELL_SHIFT;
      const count = Math.min(CELL_BYTES, length - at);
      for (let i = 0; i < count; i++) chunk[base + i] = bytes[at + i]!;
      at += count;
      if (at >= length) return first;
      const behind = this.#take();
      this.#setNext(cell, behind);
      cell = behind;
    }
  }

  /** Releases the cells of a string. */
  release(first: number): void {
    for (let cell = first; cell !== NONE;) {
      const behind = this.#nextOf(cell);
      this.#setNext(cell, this.#free);
      this.#free = cell;
      this.#used--;
      cell = behind;
    }
  }

  /** Copies `count` bytes of a string, from its offset `from` on, into `out` at `at`. */
  copyTo(first: number, from: number, count: number, out: Uint8Array, at: number): void {
    let cell = first;
    for (; from >= CELL_BYTES; from -= CELL_BYTES) cell = this.#nextOf(cell);
    for (const end = at + count; at < end; cell = this.#nextOf(cell)) {
      const chunk = this.#chunks[cell >>> CHUNK_SHIFT]!;
      const base = (cell & (CHUNK_CELLS - 1)) << CELL_SHIFT;
      for (let i = from; i < CELL_BYTES && at < end; i++) out[at++] = chunk[base + i]!;
      from = 0;
    }
  }

  /** Whether a string starts with the first `length` bytes of these. */
  startsWith(first: number, bytes: Uint8Array, length: number): boolean {
    let cell = first;
    for (let at = 0; at < length; cell = this.#nextOf(cell)) {
      const chunk = this.#chunks[cell >>> CHUNK_SHIFT]!;
      const base = (cell & (CHUNK_CELLS - 1)) << CELL_SHIFT;
      for (let i = 0; i < CELL_BYTES && at < length; i++, at++) {
        if (chunk[base + i] !== bytes[at]) return false;
      }
    }
    return true;
  }

  clear(): void {
    this.#chunks = [];
    this.#next = [];
    this.#free = NONE;
    this.#used = 0;
  }

  #take(): number {
    if (this.#free === NONE) this.#grow();
    const cell = this.#free;
    this.#free = this.#nextOf(cell);
    this.#setNext(cell, NONE);
    this.#peak = Math.max(this.#peak, ++this.#used);
    return cell;
  }

  #grow(): void {
    const start = this.#chunks.length * CHUNK_CELLS;
    this.#chunks.push(new Uint8Array(CHUNK_CELLS * CELL_BYTES));
    const next = Int32Array.from({ length: CHUNK_CELLS }, (_, i) => start + i + 1);
    next[CHUNK_CELLS - 1] = NONE;
    this.#next.push(next);
    this.#free = start;
  }

  #nextOf(cell: number): number {
    return this.#next[cell >>> CHUNK_SHIFT]![cell & (CHUNK_CELLS - 1)]!;
  }

  #setNext(cell: number, behind: number): void {
    this.#next[cell >>> CHUNK_SHIFT]![cell & (CHUNK_CELLS - 1)] = behind;
  }
}
