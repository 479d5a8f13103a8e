import type { AnswerCache } from '@kube-dns/resolver';

/**
 * Insertions and evictions since the start of the process: the cache resets its counts when it is
 * emptied, as dnsmasq does, and a counter must not decrease.
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

  /** Adds the cache's counts to the totals; to be called before the cache is emptied. */
  retain(): void {
    this.#insertions = this.insertions;
    this.#evictions = this.evictions;
  }
}
