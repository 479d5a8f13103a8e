import { AnswerWriter, appendOpt, NO_EDNS_OPTIONS, type Query, RCODE, TYPE } from '@kube-dns/wire';
import { type AnswerCache, staleOption } from '@kube-dns/resolver';
import { FILTERED_TYPE, STALE } from '../explanations.js';
import { FilteredTypes } from './filtered-types.js';

/** Types whose presence in the cache shows that a name exists (dnsmasq src/rfc1035.c, answer_request). */
const SIBLINGS = [TYPE.A, TYPE.AAAA];

/** Answers from the cache, without the filtered types. */
export class CachedAnswers {
  readonly #cache: AnswerCache;
  readonly #filtered: FilteredTypes;
  readonly #saysAge: boolean;
  readonly #writer = new AnswerWriter();

  /** `saysAge`: of an expired answer clients learn how long ago that was. */
  constructor(cache: AnswerCache, filteredTypes: readonly number[], saysAge: boolean) {
    this.#cache = cache;
    this.#saysAge = saysAge;
    this.#filtered = new FilteredTypes(filteredTypes);
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
    let length = this.#cache.answer(query, out);
    if (length === 0) return 0;
    let options = this.#cache.last.isStale ? this.#staleOption : NO_EDNS_OPTIONS;
    if (this.#filtered.has(query.type)) {
      const whole = length;
      length = this.#filtered.cut(out, length, query.type);
      if (length < whole) options = FILTERED_TYPE;
    }
    const { reasons } = this.#cache.last;
    if (reasons.length > 0) options = Buffer.concat([options, reasons]);
    return appendOpt(query, out, length, 0, options);
  }

  get #staleOption(): Uint8Array {
    const { isDenial, staleSeconds } = this.#cache.last;
    return this.#saysAge ? staleOption(isDenial, staleSeconds) : STALE;
  }

  /** A name with a cached address exists, so a filtered type needs no query to a server. */
  answerFromSibling(query: Query, out: Uint8Array): number {
    const hasSibling =
      this.#filtered.has(query.type) &&
      SIBLINGS.some((type) => type !== query.type && this.#cache.has(query, type));
    if (!hasSibling) return 0;
    this.#writer.begin(query, out);
    this.#writer.setRcode(RCODE.NOERROR, FILTERED_TYPE);
    return this.#writer.finish();
  }
}
