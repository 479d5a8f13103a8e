import { copyBytes, readUint16 } from '@kube-dns/wire';

/** Of the length in front of each message. */
export const PREFIX_BYTES = 2;
const NOTHING = Buffer.alloc(0);

/**
 * Cuts a TCP byte stream into DNS messages by their length prefix (RFC 1035 section 4.2.2). When
 * all messages are read before the next push, it holds less than one message, 65,537 bytes. However
 * small the chunks are, each byte is copied a few times at most.
 */
export class FrameReader {
  /** Received and not yet read: from `#begin` to `#end`; after it there may be free space. */
  #bytes: Buffer = NOTHING;
  #begin = 0;
  #end = 0;
  /** A chunk belongs to its sender: nothing may be written after it. */
  #isOwn = false;

  /** The memory that it uses. */
  get heldBytes(): number {
    return this.#bytes.length;
  }

  /** Adds what arrived: the first `length` bytes, which must not change until they are read or `retain` is called. */
  push(chunk: Buffer, length = chunk.length): void {
    if (this.#begin === this.#end) {
      this.#bytes = chunk;
      this.#begin = 0;
      this.#end = length;
      this.#isOwn = false;
      return;
    }
    if (!this.#isOwn || this.#end + length > this.#bytes.length) this.#grow(length);
    chunk.copy(this.#bytes, this.#end, 0, length);
    this.#end += length;
  }

  /** Copies what is not read yet out of the chunk that it arrived in. */
  retain(): void {
    if (!this.#isOwn && this.#begin < this.#end) this.#grow(0);
  }

  /** The length of the next whole message; -1 when more bytes are needed. */
  get nextLength(): number {
    const begin = this.#begin + PREFIX_BYTES;
    if (begin > this.#end) return -1;
    const length = readUint16(this.#bytes, this.#begin);
    return begin + length > this.#end ? -1 : length;
  }

  /** The next whole message; undefined when more bytes are needed. */
  next(): Buffer | undefined {
    const length = this.nextLength;
    if (length < 0) return undefined;
    const begin = this.#begin + PREFIX_BYTES;
    const message = this.#bytes.subarray(begin, begin + length);
    this.#passOver(length);
    return message;
  }

  /** Copies the next message, which is whole and has this length, and passes over it. */
  take(length: number, to: Uint8Array): void {
    copyBytes(this.#bytes, this.#begin + PREFIX_BYTES, length, to, 0);
    this.#passOver(length);
  }

  #passOver(length: number): void {
    this.#begin += PREFIX_BYTES + length;
    // An idle connection must not hold a whole chunk in memory.
    if (this.#begin === this.#end) this.#bytes = NOTHING;
  }

  /** Grows for a message that arrives in pieces: twice the size, but no more than the message needs. */
  #grow(bytes: number): void {
    const held = this.#end - this.#begin;
    const least = held + bytes;
    const whole = held < PREFIX_BYTES ? least : PREFIX_BYTES + readUint16(this.#bytes, this.#begin);
    const grown = Buffer.allocUnsafeSlow(Math.max(least, Math.min(2 * least, whole)));
    this.#bytes.copy(grown, 0, this.#begin, this.#end);
    this.#bytes = grown;
    this.#begin = 0;
    this.#end = held;
    this.#isOwn = true;
  }
}

/** A copy of a message, or of its first bytes, with its length prefix in front. */
export function frameMessage(message: Uint8Array, length = message.length): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + length);
  frame.writeUInt16BE(length, 0);
  frame.set(message.subarray(0, length), PREFIX_BYTES);
  return frame;
}
