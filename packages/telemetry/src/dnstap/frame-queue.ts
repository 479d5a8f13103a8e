import { writeUint32 } from '@kube-dns/wire';
import { LENGTH_BYTES } from './control-frame.js';

/** Frames one after the other, as they are written to a reader. */
export interface FrameBlock {
  readonly bytes: Uint8Array;
  readonly frames: number;
}

const BLOCK_BYTES = 32 * 1024;
const USUAL_BYTES = 2 * 1024;

/** The frames that wait for their reader, at most so many bytes of them; a frame that has no room is dropped. */
export class FrameQueue {
  /** Frames that had no room. */
  dropped = 0;
  readonly #maxBytes: number;
  /** Full ones, oldest first. */
  readonly #blocks: FrameBlock[] = [];
  #heldBytes = 0;
  #open = new Uint8Array(0);
  #openBytes = 0;
  #openFrames = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Whether there are enough to write them at once. */
  get isBlockFull(): boolean {
    return this.#blocks.length > 0;
  }

  /** Whether there is room for most frames: while there is none, they need not be made. */
  get hasRoom(): boolean {
    const isOpenFull = this.#open.length - this.#openBytes < USUAL_BYTES;
    return !isOpenFull || this.#heldBytes + this.#open.length + BLOCK_BYTES <= this.#maxBytes;
  }

  get isEmpty(): boolean {
    return this.#openFrames === 0 && this.#blocks.length === 0;
  }

  /** Adds a frame with its length in front; copies it. */
  push(frame: Uint8Array): void {
    const bytes = LENGTH_BYTES + frame.length;
    if (this.#openBytes + bytes > this.#open.length && !this.#makeRoom(bytes)) {
      this.dropped++;
      return;
    }
    writeUint32(this.#open, this.#openBytes, frame.length);
    this.#open.set(frame, this.#openBytes + LENGTH_BYTES);
    this.#openBytes += bytes;
    this.#openFrames++;
  }

  /** Takes the oldest frames out; undefined when there are none. */
  take(): FrameBlock | undefined {
    if (this.#blocks.length === 0) this.#seal();
    const block = this.#blocks.shift();
    if (block === undefined) return undefined;
    this.#heldBytes -= block.bytes.buffer.byteLength;
    return block;
  }

  #makeRoom(bytes: number): boolean {
    const size = Math.max(bytes, BLOCK_BYTES);
    this.#seal();
    if (this.#heldBytes + size > this.#maxBytes) return false;
    this.#open = new Uint8Array(size);
    return true;
  }

  #seal(): void {
    if (this.#openFrames === 0) return;
    const bytes = this.#open.subarray(0, this.#openBytes);
    this.#blocks.push({ bytes, frames: this.#openFrames });
    this.#heldBytes += this.#open.length;
    this.#open = new Uint8Array(0);
    this.#openBytes = this.#openFrames = 0;
  }
}
