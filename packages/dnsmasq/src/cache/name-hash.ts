import { randomBytes } from 'node:crypto';

const PRIME = 0x0100_0193;

/** The hash of a question: that of its name, which serves for every type, and then that with the type. */
export class NameHash {
  /** Secret, so that whoever chooses the names cannot choose collisions. */
  readonly #seed = randomBytes(4).readInt32LE();

  /** Hashes the first bytes of a lower-cased name in wire form (FNV-1a). */
  of(name: Uint8Array, length: number): number {
    let hash = this.#seed;
    for (let i = 0; i < length; i++) hash = Math.imul(hash ^ name[i]!, PRIME);
    return hash;
  }

  /** Takes the type in, with a final mix, because the low bits choose the bucket. */
  static withType(nameHash: number, type: number): number {
    let hash = Math.imul(nameHash ^ type, PRIME);
    hash ^= hash >>> 15;
    return Math.imul(hash, 0x2c1b_3c6d) ^ (hash >>> 12);
  }
}
