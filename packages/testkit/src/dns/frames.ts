const LENGTH_BYTES = 2;

/** A message as sent over TCP: after its length in two bytes (RFC 1035 section 4.2.2). */
export function frameMessage(message: Uint8Array): Buffer {
  const frame = Buffer.alloc(LENGTH_BYTES + message.length);
  frame.writeUInt16BE(message.length);
  frame.set(message, LENGTH_BYTES);
  return frame;
}

/** Reads messages from a stream that arrives in pieces of any size. */
export class Frames {
  #pending = Buffer.alloc(0);

  /** The messages that this piece completes, in order; each is a copy. */
  push(piece: Uint8Array): readonly Buffer[] {
    this.#pending = Buffer.concat([this.#pending, piece]);
    const messages: Buffer[] = [];
    for (let end = this.#firstEnd; end <= this.#pending.length; end = this.#firstEnd) {
      messages.push(Buffer.from(this.#pending.subarray(LENGTH_BYTES, end)));
      this.#pending = this.#pending.subarray(end);
    }
    return messages;
  }

  get #firstEnd(): number {
    if (this.#pending.length < LENGTH_BYTES) return Infinity;
    return LENGTH_BYTES + this.#pending.readUInt16BE();
  }
}
