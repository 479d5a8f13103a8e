import { expect } from '@jest/globals';
import { AnswerCache } from '../src/cache/answer-cache.js';
import type { CachingRules } from '../src/cache/reply-reader.js';
import { askCache, storeReply } from '../src/testing/cached-answers.js';
import {
  addressRecords,
  cnameRecord,
  type Question,
  type Response,
  soaRecord,
  type ReplyRecord,
} from '@kube-dns/testkit';

/** The name that is asked for unless given. */
export const NAME = 'a.example';

/** A CNAME record. */
export const cname = (owner: string, data: string, ttl = 30) => cnameRecord(owner, data, ttl);

/** An A record. */
export const address = (name: string, ttl = 30): ReplyRecord => ({
  ...addressRecords(ttl, '10.0.0.1')[0]!,
  name,
});

/** An SOA record. */
export const soa = (owner: string, ttl = 60, minimum = 5) => soaRecord(minimum, owner, ttl);

/** `a.example` and this many CNAMEs from there to the next number. */
export const chain = (length: number) =>
  Array.from({ length }, (_, i) => cname(i === 0 ? NAME : `n${i}.example`, `n${i + 1}.example`));

/** The question, and the rules for caching the answer; the plain ones unless given. */
export interface Case {
  readonly question?: Partial<Question>;
  readonly rules?: Partial<CachingRules>;
}

/** The answer afterwards; undefined when nothing was cached. */
export function storedAnswer(response: Response, { question, rules }: Case = {}) {
  const cache = new AnswerCache({ maxRecords: 100, nowSeconds: () => 0 });
  const asked = { name: NAME, ...question };
  const isStored = storeReply(cache, asked, response, rules);
  const seen = askCache(cache, asked);
  expect(seen !== undefined).toBe(isStored);
  return seen;
}
