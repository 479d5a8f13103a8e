import { FNV_OFFSET, hashByte, randomSeed } from '@kube-dns/wire';
import { MAX_DRAWS } from './shuffle.js';

const SLOTS = 2 * MAX_DRAWS;
const MASK = SLOTS - 1;

/**
 * The records that an answer has so far, as 64 bits of hash each: seeded, so no client can choose two that are
 * taken for one, and by chance that happens once in a million million answers. It allocates nothing.
 */
export class SeenRecords {
  readonly #seed = randomSeed();
  /** By slot of a hash table: both halves of the hash, and the answer that they are of. */
  readonly #left = new Int32Array(SLOTS);
  readonly #right = new Int32Array(SLOTS);
  readonly #answers = new Uint32Array(SLOTS);
  #answer = 1;
  #count = 0;

  clear(): void {
    this.#answer = (this.#answer + 1) >>> 0;
    this.#count = 0;
  }

  /** Adds the characters from `at` on, with a number; false when they were added before. */
  add(text: string, at: number, length: number, number: number): boolean {
    let left = hashByte(this.#seed, number) | 0;
    let right = (FNV_OFFSET ^ Math.imul(this.#seed, number + 1)) | 0;
    for (let i = at; i < at + length; i++) {
      const character = text.charCodeAt(i);
      left = hashByte(left, character) | 0;
      right = (Math.imul(right ^ character, 0x9e37_79b1) ^ (right >>> 15)) | 0;
    }
    let slot = (left ^ (left >>> 15)) & MASK;
    for (; this.#answers[slot] === this.#answer; slot = (slot + 1) & MASK) {
      if (this.#left[slot] === left && this.#right[slot] === right) return false;
    }
    // No message has space for so many; what is not stored may be added twice.
    if (this.#count === MAX_DRAWS) return true;
    this.#count++;
    this.#left[slot] = left;
    this.#right[slot] = right;
    this.#answers[slot] = this.#answer;
    return true;
  }
}
