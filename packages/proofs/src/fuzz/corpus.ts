import type { Random } from './random.js';

/** This many inputs are stored to start from; one more replaces another. */
const MAX_ENTRIES = 2_000;

/** The inputs that others are made of. The first ones, which were written for it, stay. */
export class Corpus {
  readonly tokens: readonly Buffer[];
  readonly #entries: Buffer[];
  readonly #seedCount: number;

  /** `tokens` are pieces that mean something to the parser. */
  constructor(seeds: readonly Buffer[], tokens: readonly Buffer[]) {
    this.#entries = [...seeds];
    this.#seedCount = seeds.length;
    this.tokens = tokens;
  }

  get entries(): readonly Buffer[] {
    return this.#entries;
  }

  /** Stores a copy. */
  add(entry: Uint8Array, random: Random): void {
    const copy = Buffer.from(entry);
    if (this.#entries.length < MAX_ENTRIES) this.#entries.push(copy);
    else this.#entries[this.#seedCount + random.below(MAX_ENTRIES - this.#seedCount)] = copy;
  }
}
