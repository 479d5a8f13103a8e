import {
  appendOpt,
  EXTENDED_ERROR,
  extendedErrorOption,
  NO_EDNS_OPTIONS,
  type Query,
} from '@kube-dns/wire';
import type { AnswerCache } from '../cache/answer-cache.js';
import { staleOption } from './stale-option.js';

const STALE = extendedErrorOption(EXTENDED_ERROR.STALE_ANSWER);

/** Answers from a cache as clients get them: with the reasons of the server, and with that of an expired answer. */
export class CachedAnswers {
  readonly #cache: AnswerCache;
  readonly #saysAge: boolean;

  /** `saysAge`: of an expired answer clients learn how long ago that was. */
  constructor(cache: AnswerCache, saysAge: boolean) {
    this.#cache = cache;
    this.#saysAge = saysAge;
  }

  /** Whether the last answer has expired. */
  get isStale(): boolean {
    return this.#cache.last.isStale;
  }

  /** Of the last answer, if it has expired: see the columns of entries. */
  get triedAtMs(): number {
    return this.#cache.last.triedAtMs;
  }

  /** Writes the answer into `out` and returns its length; 0 when there is none. */
  answer(query: Query, out: Uint8Array): number {
    const length = this.#cache.answer(query, out);
    return length === 0 ? 0 : this.finish(query, out, length);
  }

  /** Ends the last answer of the cache, which is `length` long in `out`; `reason` is an option that says more than its age. */
  finish(query: Query, out: Uint8Array, length: number, reason?: Uint8Array): number {
    const { isStale, reasons } = this.#cache.last;
    let options = reason ?? (isStale ? this.#staleOption : NO_EDNS_OPTIONS);
    if (reasons.length > 0) options = Buffer.concat([options, reasons]);
    return appendOpt(query, out, length, 0, options);
  }

  get #staleOption(): Uint8Array {
    const { isDenial, staleSeconds } = this.#cache.last;
    return this.#saysAge ? staleOption(isDenial, staleSeconds) : STALE;
  }
}
