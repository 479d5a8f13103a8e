import { createHash } from 'node:crypto';

/**
 * Random numbers from a seed: SFC32 of PractRand. The same seed gives the same numbers on every machine. Each machine,
 * link and client has numbers of its own (`fork`), so that one more draw here changes nothing there.
 */
export class Random {
  readonly #seed: string;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: string) {
    this.#seed = seed;
    const digest = createHash('sha256').update(seed).digest();
    this.#a = digest.readInt32LE(0);
    this.#b = digest.readInt32LE(4);
    this.#c = digest.readInt32LE(8);
    for (let i = 0; i < 12; i++) this.uint32();
  }

  /** Independent numbers for one part of the simulation. */
  fork(name: string): Random {
    return new Random(`${this.#seed}/${name}`);
  }

  /** From 0 to 2³² - 1. */
  uint32(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (this.#c << 21) | (this.#c >>> 11);
    this.#c = (this.#c + sum) | 0;
    return sum >>> 0;
  }

  /** At least 0 and below 1. */
  fraction(): number {
    return this.uint32() / 0x1_0000_0000;
  }

  /** A whole number below `end`; 0 when that is 0. */
  below(end: number): number {
    return Math.floor(this.fraction() * end);
  }

  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number {
    return from + this.below(to - from + 1);
  }

  chance(probability: number): boolean {
    return probability > 0 && this.fraction() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  /** Exponential, as the time between independent events is. */
  exponential(mean: number): number {
    return -Math.log(1 - this.fraction()) * mean;
  }

  fill(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at++) bytes[at] = this.uint32() >>> 24;
  }
}
