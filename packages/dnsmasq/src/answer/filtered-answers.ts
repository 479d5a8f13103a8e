import type { Relay } from '@kube-dns/push';
import { type AnswerCache, CachedAnswers, type Hit } from '@kube-dns/resolver';
import { AnswerWriter, type Query, RCODE, TYPE } from '@kube-dns/wire';
import { FILTERED_TYPE } from '../explanations.js';

import { FilteredTypes } from './filtered-types.js';

/** Types whose presence in the cache shows that a name exists (dnsmasq src/rfc1035.c, answer_request). */
const SIBLINGS = [TYPE.A, TYPE.AAAA];

/** Answers from the cache, without the filtered types. */
export class FilteredAnswers {
  readonly #cache: AnswerCache;
  readonly #answers: CachedAnswers;
  readonly #filtered: FilteredTypes;
  readonly #relayed: Pick<Relay, 'addTo'> | undefined;
  readonly #writer = new AnswerWriter();

  /** `saysAge`: of an expired answer clients learn how long ago that was. `relayed` is set where changes are passed on. */
  constructor(
    cache: AnswerCache,
    filteredTypes: readonly number[],
    saysAge: boolean,
    relayed?: Pick<Relay, 'addTo'>,
  ) {
    this.#cache = cache;
    this.#answers = new CachedAnswers(cache, saysAge);
    this.#relayed = relayed;
    this.#filtered = new FilteredTypes(filteredTypes);
  }

  /** Writes the answer into `out`; undefined when there is none. */
  answer(query: Query, out: Uint8Array): Hit | undefined {
    const hit = this.#answer(query, out);
    if (hit !== undefined && query.asksZoneVersion && this.#relayed !== undefined) {
      hit.length = this.#relayed.addTo(query, out, hit.length, hit.subscription);
    }
    return hit;
  }

  #answer(query: Query, out: Uint8Array): Hit | undefined {
    if (!this.#filtered.has(query.type)) return this.#answers.answer(query, out);
    const hit = this.#cache.lookup(query, out);
    if (hit === undefined) return undefined;
    const whole = hit.length;
    hit.length = this.#filtered.cut(out, whole, query.type);
    return this.#answers.finish(hit, query, out, hit.length < whole ? FILTERED_TYPE : undefined);
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
