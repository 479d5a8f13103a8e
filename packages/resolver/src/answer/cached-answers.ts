import {
  appendOpt,
  EXTENDED_ERROR,
  extendedErrorOption,
  NO_EDNS_OPTIONS,
  type Query,
} from '@kube-dns/wire';
import type { AnswerCache, Hit } from '../cache/answer-cache.js';

/** Answers from a cache as clients get them: with the reasons of the server, and with that of an expired answer. */
export class CachedAnswers {
  readonly #cache: AnswerCache;
  readonly #saysAge: boolean;

  /** `saysAge`: of an expired answer clients learn how long ago that was. */
  constructor(cache: AnswerCache, saysAge: boolean) {
    this.#cache = cache;
    this.#saysAge = saysAge;
  }

  /** Writes the answer into `out`; undefined when there is none. */
  answer(query: Query, out: Uint8Array): Hit | undefined {
    const hit = this.#cache.lookup(query, out);
    return hit === undefined ? undefined : this.finish(hit, query, out);
  }

  /** Ends the answer that the cache wrote into `out`; `reason` is an option that says more than its age. */
  finish(hit: Hit, query: Query, out: Uint8Array, reason?: Uint8Array): Hit {
    const { reasons } = hit;
    let options = reason ?? (hit.isStale ? this.#staleOption(hit) : NO_EDNS_OPTIONS);
    if (reasons.length > 0) options = Buffer.concat([options, reasons]);
    hit.length = appendOpt(query, out, hit.length, 0, options);
    return hit;
  }

  #staleOption({ isDenial, staleSeconds }: Hit): Uint8Array {
    return this.#saysAge ? ageOption(isDenial, staleSeconds) : STALE;
  }
}

const STALE = extendedErrorOption(EXTENDED_ERROR.STALE_ANSWER);

const DIGITS = 7;
const HEAD_BYTES = 6;
const BEFORE = 'expired ';
const AFTER = ' s ago';
const ZERO = 48;

/** Options by number of digits, which are written into them. */
const STALE_ANSWER = ageOptions(EXTENDED_ERROR.STALE_ANSWER);
const STALE_NXDOMAIN = ageOptions(EXTENDED_ERROR.STALE_NXDOMAIN);

function ageOptions(code: number): readonly Uint8Array[] {
  return Array.from({ length: DIGITS + 1 }, (_, digits) =>
    extendedErrorOption(code, BEFORE + '0'.repeat(digits) + AFTER),
  );
}

/** Says how long ago an answer expired, as an Extended DNS Error; valid until the next call. */
function ageOption(isDenial: boolean, seconds: number): Uint8Array {
  let rest = Math.min(Math.floor(seconds), 10 ** DIGITS - 1);
  let digits = 1;
  for (let more = rest; more >= 10; more = Math.floor(more / 10)) digits++;
  const option = (isDenial ? STALE_NXDOMAIN : STALE_ANSWER)[digits]!;
  for (let at = HEAD_BYTES + BEFORE.length + digits - 1; digits > 0; digits--, at--) {
    option[at] = ZERO + (rest % 10);
    rest = Math.floor(rest / 10);
  }
  return option;
}
