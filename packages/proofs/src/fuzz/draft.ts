/** an input in progress: bytes that mutations change, up to as many as the parser is to get. */
export class Draft {
  readonly bytes: Buffer;
  length = 0;

  constructor(maxBytes: number) {
    this.bytes = Buffer.alloc(maxBytes);
  }

  /** Begins again with a copy; what does not fit is cut. */
  reset(from: Uint8Array): void {
    this.length = Math.min(from.length, this.bytes.length);
    this.bytes.set(from.subarray(0, this.length));
  }

  /** Inserts `piece` at `at`; bytes that do not fit are cut off at the end. */
  insert(at: number, piece: Uint8Array): void {
    const { bytes } = this;
    const count = Math.min(piece.length, bytes.length - at);
    const end = Math.min(this.length + count, bytes.length);
    bytes.copyWithin(at + count, at, end - count);
    bytes.set(piece.subarray(0, count), at);
    this.length = end;
  }

  /** Overwrites existing bytes, also beyond the end. */
  overwrite(at: number, piece: Uint8Array): void {
    const count = Math.min(piece.length, this.bytes.length - at);
    this.bytes.set(piece.subarray(0, count), at);
    this.length = Math.max(this.length, at + count);
  }

  append(piece: Uint8Array): void {
    this.overwrite(this.length, piece);
  }

  remove(at: number, count: number): void {
    this.bytes.copyWithin(at, at + count, this.length);
    this.length -= Math.min(count, this.length - at);
  }

  /** A copy of a part. */
  slice(at: number, count: number): Buffer {
    return Buffer.from(this.bytes.subarray(at, Math.min(at + count, this.length)));
  }
}
