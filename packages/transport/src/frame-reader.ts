import { MAX_MESSAGE_BYTES, readUint16 } from '@kube-dns/wire';

const PREFIX_BYTES = 2;
/** The longest frame: whoever takes all messages before the next push never holds more. */
const MAX_FRAME_BYTES = PREFIX_BYTES + MAX_MESSAGE_BYTES;
const LEAST_ROOM = 512;
const NOTHING = Buffer.alloc(0);

/**
 * Cuts a TCP byte stream into DNS messages by their length prefix (RFC 1035 section 4.2.2). Whoever
 * takes all messages before the next push makes it hold less than one message, 65,537 bytes.
 */
export class FrameReader {
  /** What is there and no message yet: a view of the last chunk, or of the room. */
  #pending: Buffer = NOTHING;
  /** Where chunks are put together. It grows as they come, whatever a prefix promises, and is never reused. */
  #room: Buffer = NOTHING;

  /** Adds what arrived. */
  push(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : this.#join(chunk);
  }

  /** The next whole message; undefined when more bytes are needed. */
  next(): Buffer | undefined {
    if (this.#pending.length < PREFIX_BYTES) return undefined;
    const end = PREFIX_BYTES + readUint16(this.#pending, 0);
    if (this.#pending.length < end) return undefined;
    const message = this.#pending.subarray(PREFIX_BYTES, end);
    // An empty view would keep the whole chunk alive while the connection is idle.
    this.#pending = this.#pending.length === end ? NOTHING : this.#pending.subarray(end);
    if (this.#pending.length === 0) this.#room = NOTHING;
    return message;
  }

  /** Puts a chunk behind what is pending; a message that comes byte by byte is not copied each time. */
  #join(chunk: Buffer): Buffer {
    const pending = this.#pending;
    const length = pending.length + chunk.length;
    const isInRoom = pending.buffer === this.#room.buffer && this.#room.length > 0;
    const start = isInRoom ? pending.byteOffset - this.#room.byteOffset : 0;
    if (!isInRoom || start + length > this.#room.length) {
      const doubled = Math.min(2 * length, MAX_FRAME_BYTES);
      this.#room = Buffer.allocUnsafeSlow(Math.max(length, doubled, LEAST_ROOM));
      this.#room.set(pending);
      this.#room.set(chunk, pending.length);
      return this.#room.subarray(0, length);
    }
    this.#room.set(chunk, start + pending.length);
    return this.#room.subarray(start, start + length);
  }
}

/** A copy of a message with its length prefix in front. */
export function frameMessage(message: Uint8Array, length: number): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + length);
  frame.writeUInt16BE(length, 0);
  frame.set(message.subarray(0, length), PREFIX_BYTES);
  return frame;
}
