const DIGITS = 0x30;
const DOT = 0x2e;
const COLON = 0x3a;
const LOWER_A = 0x61;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const IPV4_BYTES = 4;
const IPV6_GROUPS = 8;
const FRACTION_DIGITS = 9;
const NS_PER_SECOND = 1_000_000_000;
const NS_PER_MS = 1_000_000;

/** The bytes of a text of ASCII, to be written many times. */
export function ascii(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** Which bytes of a name get a backslash in presentation form, as miekg/dns writes it for CoreDNS. */
const ESCAPED = new Uint8Array(256);
for (const byte of ascii('. \'@;()"\\')) ESCAPED[byte] = 1;

/** Writes pieces of a line as bytes, one after the other; it makes no strings. The room is the caller's to know. */
export class LineWriter {
  bytes = new Uint8Array(0);
  at = 0;

  start(bytes: Uint8Array, at: number): void {
    this.bytes = bytes as Uint8Array<ArrayBuffer>;
    this.at = at;
  }

  put(piece: Uint8Array): void {
    const { bytes, at } = this;
    for (let i = 0; i < piece.length; i++) bytes[at + i] = piece[i]!;
    this.at = at + piece.length;
  }

  putByte(byte: number): void {
    this.bytes[this.at++] = byte;
  }

  /** A whole number that is not negative, below 2^31. */
  putNumber(value: number): void {
    let digits = 1;
    for (let power = 10; value >= power; power *= 10) digits++;
    this.#putDigits(value, digits);
  }

  /** Milliseconds as seconds, to the nanosecond, without zeros at the end: `0.000163406`. */
  putSeconds(ms: number): void {
    const ns = Math.max(0, Math.round(ms * NS_PER_MS));
    const seconds = Math.floor(ns / NS_PER_SECOND);
    let fraction = ns - seconds * NS_PER_SECOND;
    this.putNumber(seconds);
    if (fraction === 0) return;
    let digits = FRACTION_DIGITS;
    for (; fraction % 10 === 0; fraction /= 10) digits--;
    this.putByte(DOT);
    this.#putDigits(fraction, digits);
  }

  /** The first `count` bytes of an address, 4 or 16, in its shortest form (RFC 5952). */
  putAddress(address: Uint8Array, count: number): void {
    if (count === IPV4_BYTES) {
      for (let i = 0; i < IPV4_BYTES; i++) {
        if (i > 0) this.putByte(DOT);
        this.putNumber(address[i]!);
      }
    } else if (count > IPV4_BYTES) this.#putIpv6(address);
  }

  /**
   * The first `length` bytes of a name in wire form, with a dot at its end and escapes as miekg/dns has them. In JSON each
   * backslash is one more.
   */
  putName(name: Uint8Array, length: number, isJson: boolean): void {
    const { bytes } = this;
    let { at } = this;
    if (length <= 1) bytes[at++] = DOT;
    for (let label = 0; label < length - 1; label += name[label]! + 1) {
      const end = label + name[label]! + 1;
      for (let i = label + 1; i < end; i++) {
        const byte = name[i]!;
        const isPrintable = byte >= 0x20 && byte <= 0x7e;
        if (isPrintable && ESCAPED[byte] === 0) {
          bytes[at++] = byte;
          continue;
        }
        bytes[at++] = BACKSLASH;
        if (isJson) bytes[at++] = BACKSLASH;
        if (isPrintable) {
          if (isJson && (byte === QUOTE || byte === BACKSLASH)) bytes[at++] = BACKSLASH;
          bytes[at++] = byte;
          continue;
        }
        bytes[at++] = DIGITS + Math.floor(byte / 100);
        bytes[at++] = DIGITS + (Math.floor(byte / 10) % 10);
        bytes[at++] = DIGITS + (byte % 10);
      }
      bytes[at++] = DOT;
    }
    this.at = at;
  }

  #putDigits(value: number, digits: number): void {
    const { bytes } = this;
    let rest = value;
    for (let at = this.at + digits - 1; at >= this.at; at--) {
      const next = Math.floor(rest / 10);
      bytes[at] = DIGITS + rest - next * 10;
      rest = next;
    }
    this.at += digits;
  }

  #putIpv6(address: Uint8Array): void {
    let zerosAt = -1;
    let zeros = 1;
    for (let i = 0; i < IPV6_GROUPS; i++) {
      let end = i;
      while (end < IPV6_GROUPS && groupAt(address, end) === 0) end++;
      if (end - i > zeros) {
        zerosAt = i;
        zeros = end - i;
      }
      i = end;
    }
    for (let i = 0; i < IPV6_GROUPS; i++) {
      if (i === zerosAt) {
        this.putByte(COLON);
        this.putByte(COLON);
        i += zeros - 1;
        continue;
      }
      if (i > 0 && i !== zerosAt + zeros) this.putByte(COLON);
      this.#putHex(groupAt(address, i));
    }
  }

  #putHex(value: number): void {
    let shift = 12;
    while (shift > 0 && value >>> shift === 0) shift -= 4;
    for (; shift >= 0; shift -= 4) {
      const digit = (value >>> shift) & 0xf;
      this.putByte(digit < 10 ? DIGITS + digit : LOWER_A + digit - 10);
    }
  }
}

function groupAt(address: Uint8Array, group: number): number {
  return (address[group * 2]! << 8) | address[group * 2 + 1]!;
}
