import { readUint16 } from '@kube-dns/wire';

const PREFIX_BYTES = 2;
const NOTHING = Buffer.alloc(0);

/**
 * Cuts a TCP byte stream into DNS messages by their length prefix (RFC 1035 section 4.2.2). Whoever
 * takes all messages before the next push makes it hold less than one message, 65,537 bytes.
 */
export class FrameReader {
  #pending: Buffer = NOTHING;

  /** Adds what arrived. */
  push(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
  }

  /** The next whole message; undefined when more bytes are needed. */
  next(): Buffer | undefined {
    if (this.#pending.length < PREFIX_BYTES) return undefined;
    const end = PREFIX_BYTES + readUint16(this.#pending, 0);
    if (this.#pending.length < end) return undefined;
    const message = this.#pending.subarray(PREFIX_BYTES, end);
    // An empty view would keep the whole chunk alive while the connection is idle.
    this.#pending = this.#pending.length === end ? NOTHING : this.#pending.subarray(end);
    return message;
  }
}

/** A copy of a message with its length prefix in front. */
export function frameMessage(message: Uint8Array, length: number): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + length);
  frame.writeUInt16BE(length, 0);
  frame.set(message.subarray(0, length), PREFIX_BYTES);
  return frame;
}
