import { writeUint32 } from './bytes.js';

/** Bytes of a key, and of a hash. */
export const SIP_KEY_BYTES = 16;
export const SIP_HASH_BYTES = 8;
const BLOCK_BYTES = 8;
const BLOCK_ROUNDS = 2;
const FINAL_ROUNDS = 4;

/**
 * Writes SipHash-2-4 of `length` bytes into `out`, in the order of bytes of its authors' reference code (RFC 9018
 * section 4.4). The key has SIP_KEY_BYTES. Allocates nothing.
 */
export function sipHash(
  key: Uint8Array,
  bytes: Uint8Array,
  length: number,
  out: Uint8Array,
  at: number,
): void {
  // The four words of 64 bits as halves, low and high, in variables: with an array it takes three times as long.
  let v0 = readLittle(key, 0, 4) ^ 0x70736575;
  let v0High = readLittle(key, 4, 8) ^ 0x736f6d65;
  let v1 = readLittle(key, 8, 12) ^ 0x6e646f6d;
  let v1High = readLittle(key, 12, 16) ^ 0x646f7261;
  let v2 = readLittle(key, 0, 4) ^ 0x6e657261;
  let v2High = readLittle(key, 4, 8) ^ 0x6c796765;
  let v3 = readLittle(key, 8, 12) ^ 0x79746573;
  let v3High = readLittle(key, 12, 16) ^ 0x74656462;
  const lastAt = length - (length % BLOCK_BYTES);
  for (let blockAt = 0; blockAt <= lastAt + BLOCK_BYTES; blockAt += BLOCK_BYTES) {
    const isFinal = blockAt > lastAt;
    const low = isFinal ? 0 : readLittle(bytes, blockAt, length);
    let high = isFinal ? 0 : readLittle(bytes, blockAt + 4, length);
    // The last block ends with the length.
    if (blockAt === lastAt) high |= length << 24;
    v3 ^= low;
    v3High ^= high;
    if (isFinal) v2 ^= 0xff;
    for (let round = isFinal ? FINAL_ROUNDS : BLOCK_ROUNDS; round > 0; round--) {
      let rotated: number;
      v0 = (v0 + v1) | 0;
      v0High = (v0High + v1High + carry(v0, v1)) | 0;
      rotated = rotate(v1, v1High, 13) ^ v0;
      v1High = rotate(v1High, v1, 13) ^ v0High;
      v1 = rotated;
      rotated = v0;
      v0 = v0High;
      v0High = rotated;
      v2 = (v2 + v3) | 0;
      v2High = (v2High + v3High + carry(v2, v3)) | 0;
      rotated = rotate(v3, v3High, 16) ^ v2;
      v3High = rotate(v3High, v3, 16) ^ v2High;
      v3 = rotated;
      v0 = (v0 + v3) | 0;
      v0High = (v0High + v3High + carry(v0, v3)) | 0;
      rotated = rotate(v3, v3High, 21) ^ v0;
      v3High = rotate(v3High, v3, 21) ^ v0High;
      v3 = rotated;
      v2 = (v2 + v1) | 0;
      v2High = (v2High + v1High + carry(v2, v1)) | 0;
      rotated = rotate(v1, v1High, 17) ^ v2;
      v1High = rotate(v1High, v1, 17) ^ v2High;
      v1 = rotated;
      rotated = v2;
      v2 = v2High;
      v2High = rotated;
    }
    v0 ^= low;
    v0High ^= high;
  }
  writeUint32(out, at, swapBytes(v0 ^ v1 ^ v2 ^ v3));
  writeUint32(out, at + 4, swapBytes(v0High ^ v1High ^ v2High ^ v3High));
}

/** 1 when the sum of two lower halves did not fit 32 bits. */
function carry(sum: number, summand: number): number {
  return sum >>> 0 < summand >>> 0 ? 1 : 0;
}

/** One half of a word that is rotated to the left by less than 32 bits. */
function rotate(half: number, other: number, bits: number): number {
  return (half << bits) | (other >>> (32 - bits));
}

/** Four bytes in little-endian order; those from `end` on are zero. */
function readLittle(bytes: Uint8Array, at: number, end: number): number {
  let word = 0;
  for (let i = Math.min(at + 4, end) - 1; i >= at; i--) word = (word << 8) | bytes[i]!;
  return word;
}

function swapBytes(word: number): number {
  return (word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24);
}
