import { randomBytes } from 'node:crypto';

/** Where FNV-1a with 32 bits starts when it has no secret to hide. */
export const FNV_OFFSET = 0x811c_9dc5;
const FNV_PRIME = 0x0100_0193;

/** A secret start for a hash, so that a client that chooses the names cannot choose collisions. */
export function randomSeed(): number {
  return randomBytes(4).readInt32LE();
}

/** Takes one byte (or any other 32-bit number) into a hash: one step of FNV-1a. */
export function hashByte(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, FNV_PRIME);
}

/** Takes the bytes from `start` up to `end` into a hash (FNV-1a). */
export function hashBytes(hash: number, bytes: Uint8Array, start: number, end: number): number {
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, FNV_PRIME);
  return hash;
}

/** The last step of a hash whose low bits choose a bucket: FNV-1a alone leaves them weak. */
export function finishHash(hash: number): number {
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b_3c6d) ^ (hash >>> 12);
}
