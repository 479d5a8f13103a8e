import {
  decodeMessage,
  type DnsRecord,
  encodeQuery,
  encodeReply,
  type Question,
  type Response,
} from '@kube-dns/testkit';
import { readQuery } from '@kube-dns/wire';
import type { AnswerCache } from '../cache/answer-cache.js';
import { type CachingRules, ReplyReader } from '../cache/reply-reader.js';

/** dnsmasq's rules without any option. */
export const PLAIN_RULES: CachingRules = {
  isExtraType: () => false,
  cachesNegatives: true,
  cachesAnnouncedNegatives: false,
  negativeTtlSeconds: 0,
  minTtlSeconds: 0,
  maxTtlSeconds: 0,
  cachesZeroTtls: false,
};

/** One reader for the plain rules: each allocates a message, and tests store by the ten thousand. */
const plainReader = new ReplyReader(PLAIN_RULES);

/** Stores a server's reply; false when nothing of it is cacheable. */
export function storeReply(
  cache: AnswerCache,
  question: Question,
  response: Response,
  rules?: Partial<CachingRules>,
): boolean {
  const reader = rules === undefined ? plainReader : new ReplyReader({ ...PLAIN_RULES, ...rules });
  const isStored = reader.read(encodeReply(encodeQuery(question), response));
  if (isStored) cache.store(reader.answer, () => true);
  return isStored;
}

/** An answer of the cache as tests look at it. */
export interface Seen {
  readonly rcode: string;
  /** `OWNER TYPE DATA TTL` of each record. */
  readonly answers: readonly string[];
  readonly authorities: readonly string[];
}

const out = new Uint8Array(65_535);

/** Asks the cache; undefined when it has no answer. */
export function askCache(cache: AnswerCache, question: Question | string): Seen | undefined {
  const asked = typeof question === 'string' ? { name: question } : question;
  const hit = cache.lookup(readQuery(encodeQuery(asked)), out);
  return hit && seenIn(out.subarray(0, hit.length));
}

export function seenIn(bytes: Uint8Array): Seen {
  const { rcode, answers, authorities } = decodeMessage(bytes);
  return { rcode, answers: answers.map(recordText), authorities: authorities.map(recordText) };
}

function recordText(record: DnsRecord): string {
  const data: unknown = 'data' in record ? record.data : '';
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return `${record.name} ${record.type} ${text} ${'ttl' in record ? record.ttl : ''}`;
}
