import type { AnswerCache } from '../cache/answer-cache.js';

/**
 * Insertions and evictions since the start of the process: those of the cache begin again when it is
 * emptied, as dnsmasq's do, and a counter must not fall.
 */
export class CacheTotals {
  readonly #cache: Pick<AnswerCache, 'insertions' | 'evictions'>;
  #insertions = 0;
  #evictions = 0;

  constructor(cache: Pick<AnswerCache, 'insertions' | 'evictions'>) {
    this.#cache = cache;
  }

  get insertions(): number {
    return this.#insertions + this.#cache.insertions;
  }

  get evictions(): number {
    return this.#evictions + this.#cache.evictions;
  }

  /** To be called before the cache is emptied. */
  keep(): void {
    this.#insertions = this.insertions;
    this.#evictions = this.evictions;
  }
}
