const FIRST_BYTES = 4_096;
/** More than this is given back when it is not needed any more. */
const KEPT_BYTES = 1 << 20;

/** Records on their way to another thread: numbers and bytes, one behind the other. */
export class Parcel {
  length = 0;
  #bytes = new Uint8Array(FIRST_BYTES);
  #view = new DataView(this.#bytes.buffer);

  putUint16(value: number): void {
    this.#reserve(2);
    this.#view.setUint16(this.length, value);
    this.length += 2;
  }

  putUint32(value: number): void {
    this.#reserve(4);
    this.#view.setUint32(this.length, value);
    this.length += 4;
  }

  /** Puts the first `count` bytes, and in front of them how many there are. */
  putBytes(bytes: Uint8Array, count: number): void {
    this.putUint32(count);
    this.#reserve(count);
    this.#bytes.set(bytes.subarray(0, count), this.length);
    this.length += count;
  }

  /** ASCII, and in front of it its length. */
  putText(text: string): void {
    this.putUint16(text.length);
    this.#reserve(text.length);
    for (let i = 0; i < text.length; i++) this.#bytes[this.length++] = text.charCodeAt(i);
  }

  /** Takes out everything, as bytes that nobody else has. */
  take(): Uint8Array<ArrayBuffer> {
    const whole = this.#bytes.slice(0, this.length);
    this.length = 0;
    if (this.#bytes.length > KEPT_BYTES) this.#use(new Uint8Array(FIRST_BYTES));
    return whole;
  }

  #reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.#bytes.length) return;
    const wide = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    wide.set(this.#bytes.subarray(0, this.length));
    this.#use(wide);
  }

  #use(bytes: Uint8Array<ArrayBuffer>): void {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }
}

/** Reads what a Parcel has carried, in its order. */
export class ParcelReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  uint16(): number {
    this.#at += 2;
    return this.#view.getUint16(this.#at - 2);
  }

  uint32(): number {
    this.#at += 4;
    return this.#view.getUint32(this.#at - 4);
  }

  /** A view of what was put; empty for none. */
  bytes(): Uint8Array {
    const count = this.uint32();
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }

  text(): string {
    const count = this.uint16();
    this.#at += count;
    return String.fromCharCode(...this.#bytes.subarray(this.#at - count, this.#at));
  }
}
