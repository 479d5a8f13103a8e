import { readUint16 } from '@kube-dns/wire';

const PREFIX_BYTES = 2;
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

  /** Adds what arrived. */
  push(chunk: Buffer): void {
    if (this.#begin === this.#end) {
      this.#bytes = chunk;
      this.#begin = 0;
      this.#end = chunk.length;
      this.#isOwn = false;
      return;
    }
    if (!this.#isOwn || this.#end + chunk.length > this.#bytes.length) this.#grow(chunk.length);
    chunk.copy(this.#bytes, this.#end);
    this.#end += chunk.length;
  }

  /** The next whole message; undefined when more bytes are needed. */
  next(): Buffer | undefined {
    const begin = this.#begin + PREFIX_BYTES;
    if (begin > this.#end) return undefined;
    const end = begin + readUint16(this.#bytes, this.#begin);
    if (end > this.#end) return undefined;
    const message = this.#bytes.subarray(begin, end);
    this.#begin = end;
    // An idle connection must not hold a whole chunk in memory.
    if (end === this.#end) this.#bytes = NOTHING;
    return message;
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
