import { readUint16 } from '@kube-dns/wire';

const PREFIX_BYTES = 2;
const BLOCK_BYTES = 16_384;

/**
 * Cuts a byte stream into DNS messages as FrameReader does, out of memory that may be overwritten afterwards: what
 * arrives is copied into blocks that are used once, so messages may be retained. It holds one block, and twice a
 * message that is longer.
 */
export class FrameBlocks {
  #block = Buffer.alloc(0);
  #begin = 0;
  #end = 0;

  /** Adds the first bytes of what arrived. */
  push(bytes: Buffer, length: number): void {
    if (this.#end + length > this.#block.length) this.#renew(length);
    bytes.copy(this.#block, this.#end, 0, length);
    this.#end += length;
  }

  /** The next whole message; undefined when more bytes are needed. */
  next(): Buffer | undefined {
    const begin = this.#begin + PREFIX_BYTES;
    if (begin > this.#end) return undefined;
    const end = begin + readUint16(this.#block, this.#begin);
    if (end > this.#end) return undefined;
    this.#begin = end;
    return this.#block.subarray(begin, end);
  }

  #renew(bytes: number): void {
    const held = this.#end - this.#begin;
    // Doubled, so that a message in many pieces is copied a few times only.
    const block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, 2 * held + bytes));
    this.#block.copy(block, 0, this.#begin, this.#end);
    this.#block = block;
    this.#begin = 0;
    this.#end = held;
  }
}
