import type { Relay } from '@kube-dns/push';
import { type AnswerCache, CachedAnswers, type Hit } from '@kube-dns/resolver';
import {
  AnswerWriter,
  type Query,
  RCODE,
  RecordCursor,
  SECTION,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';
import { FILTERED_TYPE } from '../explanations.js';
import { withoutTypes } from './reply-filter.js';

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

/** The types in an answer to ANY with `--filter-rr=ANY` (dnsmasq src/rrfilter.c). */
const ALLOWED_IN_ANY: ReadonlySet<number> = new Set([TYPE.A, TYPE.AAAA, TYPE.MX, TYPE.CNAME]);

/** The types of `--filter-A`, `--filter-AAAA` and `--filter-rr`, which are removed from answers from upstream. */
export class FilteredTypes {
  readonly #types: ReadonlySet<number>;
  readonly #cursor = new RecordCursor();
  /** A CNAME leads to the requested records, so it is removed only when it was asked for itself. */
  readonly #isUnwanted = (type: number): boolean => type !== TYPE.CNAME && this.#types.has(type);
  readonly #isUnwantedCname = (type: number): boolean => this.#types.has(type);
  readonly #isUnwantedInAny = (type: number): boolean =>
    this.#types.has(type) || !ALLOWED_IN_ANY.has(type);

  constructor(types: readonly number[]) {
    this.#types = new Set(types);
  }

  /** Whether records of this type are removed. */
  has(type: number): boolean {
    return this.#types.has(type);
  }

  /**
   * Cuts a cached answer to a question of this type after its CNAMEs, in place, and returns its length. A
   * negative answer stays unchanged.
   */
  cut(answer: Uint8Array, length: number, questionType: number): number {
    const cursor = this.#cursor.reset(answer, length);
    let { end } = cursor;
    let cnames = 0;
    while (cursor.next() && cursor.section === SECTION.ANSWER) {
      if (cursor.type === questionType) {
        writeUint16(answer, 6, cnames);
        return end;
      }
      ({ end } = cursor);
      cnames++;
    }
    return length;
  }

  /** A reply to a question of this type without the unwanted records; undefined when it is malformed. */
  apply(reply: Buffer, questionType: number): Buffer | undefined {
    if (this.#types.size === 0) return reply;
    if (questionType === TYPE.CNAME) return withoutTypes(reply, this.#isUnwantedCname);
    const isAny = questionType === TYPE.ANY && this.#types.has(TYPE.ANY);
    return withoutTypes(reply, isAny ? this.#isUnwantedInAny : this.#isUnwanted);
  }
}
