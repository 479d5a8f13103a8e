import { randomBytes } from './random.js';

/** The standard start of 32-bit FNV-1a, for a hash without a secret. */
export const FNV_OFFSET = 0x811c_9dc5;
const FNV_PRIME = 0x0100_0193;

/** A secret start for a hash: a client that chooses the names cannot choose collisions. */
export function randomSeed(): number {
  return randomBytes(4).readInt32LE();
}

/** Adds one byte (or any other 32-bit number) to a hash: one step of FNV-1a. */
export function hashByte(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, FNV_PRIME);
}

/** Adds the bytes from `start` up to `end` to a hash (FNV-1a). */
export function hashBytes(hash: number, bytes: Uint8Array, start: number, end: number): number {
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, FNV_PRIME);
  return hash;
}

/** The last step of a hash whose low bits choose a bucket: FNV-1a alone leaves them weak. */
export function finishHash(hash: number): number {
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b_3c6d) ^ (hash >>> 12);
}
