/** Reads a 16-bit number in network order; the caller has checked that it lies inside. */
export function readUint16(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 8) | bytes[at + 1]!;
}

/** Reads an unsigned 32-bit number in network order; the caller has checked that it lies inside. */
export function readUint32(bytes: Uint8Array, at: number): number {
  return readUint16(bytes, at) * 0x1_0000 + readUint16(bytes, at + 2);
}

/** Writes a 16-bit number in network order. */
export function writeUint16(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 8;
  bytes[at + 1] = value;
}

/** Writes a 32-bit number in network order. */
export function writeUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

/** Up to this length a copy byte by byte costs less than the view that `set` needs. */
const SHORT_BYTES = 256;

/** Copies the first `length` bytes. */
export function copyStart(from: Uint8Array, length: number, to: Uint8Array): void {
  copyBytes(from, 0, length, to, 0);
}

/** Copies `length` bytes from an offset of one array to an offset of another one. */
export function copyBytes(
  from: Uint8Array,
  fromAt: number,
  length: number,
  to: Uint8Array,
  toAt: number,
): void {
  if (length > SHORT_BYTES) to.set(from.subarray(fromAt, fromAt + length), toAt);
  else for (let i = 0; i < length; i++) to[toAt + i] = from[fromAt + i]!;
}
