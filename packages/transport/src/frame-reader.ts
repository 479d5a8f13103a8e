import { MAX_MESSAGE_BYTES, readUint16 } from '@kube-dns/wire';

const PREFIX_BYTES = 2;
/** The longest frame: whoever takes all messages before the next push never holds more. */
const MAX_FRAME_BYTES = PREFIX_BYTES + MAX_MESSAGE_BYTES;
const LEAST_ROOM = 64;
const NOTHING = Buffer.alloc(0);

/**
 * Cuts a TCP byte stream into DNS messages by their length prefix (RFC 1035 section 4.2.2). Whoever
 * takes all messages before the next push makes it hold less than one message, 65,537 bytes.
 */
export class FrameReader {
  /** What is pending is in here: the last chunk, or room where chunks are put together, never reused. */
  #bytes: Buffer = NOTHING;
  #isOwn = false;
  #start = 0;
  #end = 0;

  /** Adds what arrived. */
  push(chunk: Buffer): void {
    if (this.#start === this.#end) this.#hold(chunk, chunk.length, false);
    else this.#append(chunk);
  }

  /** The next whole message; undefined when more bytes are needed. */
  next(): Buffer | undefined {
    const from = this.#start + PREFIX_BYTES;
    if (this.#end < from) return undefined;
    const end = from + readUint16(this.#bytes, this.#start);
    if (this.#end < end) return undefined;
    const message = this.#bytes.subarray(from, end);
    this.#start = end;
    // An idle connection must not keep a chunk alive that it has read to its end.
    if (end === this.#end) this.#hold(NOTHING, 0, false);
    return message;
  }

  #hold(bytes: Buffer, length: number, isOwn: boolean): void {
    this.#bytes = bytes;
    this.#isOwn = isOwn;
    this.#start = 0;
    this.#end = length;
  }

  /**
   * Puts a chunk behind what is pending. A message that comes byte by byte is not copied for each of
   * them, and room is made for what has come, whatever the prefix promises.
   */
  #append(chunk: Buffer): void {
    if (!this.#isOwn || this.#end + chunk.length > this.#bytes.length) {
      const pending = this.#bytes.subarray(this.#start, this.#end);
      const length = pending.length + chunk.length;
      const doubled = Math.min(2 * length, MAX_FRAME_BYTES);
      const room = Buffer.allocUnsafeSlow(Math.max(length, doubled, LEAST_ROOM));
      room.set(pending);
      this.#hold(room, pending.length, true);
    }
    this.#bytes.set(chunk, this.#end);
    this.#end += chunk.length;
  }
}

/** A copy of a message with its length prefix in front. */
export function frameMessage(message: Uint8Array, length: number): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + length);
  frame.writeUInt16BE(length, 0);
  frame.set(message.subarray(0, length), PREFIX_BYTES);
  return frame;
}
