import type { ServerGroup } from '@kube-dns/transport';
import type { AnswerCache } from '../cache/answer-cache.js';

/** Which answers are asked for again before they expire. */
export interface PrefetchOptions {
  /** Those that were asked for so often since they came. */
  readonly hits: number;
  /** When this share of their lifetime is left, which is as much more traffic. */
  readonly percent: number;
}

/** Shorter lifetimes would be asked for all the time. */
const MIN_LIFETIME_SECONDS = 10;
/** A reply has so much time beside what its servers take, and not more than this for both. */
const MARGIN_MS = 200;
const MAX_LEAD_SECONDS = 2;

/** Decides which cached answers are asked for again before they expire (`--prefetch`). */
export class Prefetch {
  readonly #options: PrefetchOptions;
  readonly #cache: Pick<AnswerCache, 'last' | 'lastSecondsLeft'>;

  constructor(options: PrefetchOptions, cache: Pick<AnswerCache, 'last' | 'lastSecondsLeft'>) {
    this.#options = options;
    this.#cache = cache;
  }

  /** Whether the last answer may be asked for soon: it is popular. */
  get isPopular(): boolean {
    return this.#cache.last.hits >= this.#options.hits;
  }

  /**
   * Whether it is time for that: PERCENT of the lifetime that the next answer adds are left, so that there is as much more
   * traffic, or what its servers may take for their reply.
   */
  isDue(group: ServerGroup): boolean {
    const { lifetimeSeconds } = this.#cache.last;
    if (lifetimeSeconds < MIN_LIFETIME_SECONDS) return false;
    const { percent } = this.#options;
    const share = (lifetimeSeconds * percent) / (100 + percent);
    const lead = Math.min((group.replyLimitMs + MARGIN_MS) / 1_000, MAX_LEAD_SECONDS);
    return this.#cache.lastSecondsLeft <= Math.max(share, lead);
  }

  /** It was asked for. */
  noteAsked(): void {
    this.#cache.last.noteFetched();
  }
}
