import { copyStart } from '@kube-dns/wire';

/**
 * One reply at a time as a Buffer of its length, in the same memory each time: a new one for each reply is garbage that
 * costs more than the copy.
 */
export class ReplyViews {
  readonly #memory: Buffer;
  /** By their length; made when they are needed. */
  readonly #views: Buffer[] = [];

  constructor(maxBytes: number) {
    this.#memory = Buffer.allocUnsafeSlow(maxBytes);
  }

  /** A copy of the first `length` bytes; valid until the next one. */
  copyOf(payload: Uint8Array, length: number): Buffer {
    copyStart(payload, length, this.#memory);
    return (this.#views[length] ??= this.#memory.subarray(0, length));
  }
}
