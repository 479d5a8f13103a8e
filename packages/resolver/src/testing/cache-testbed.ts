import {
  cnameRecord,
  decodeMessage,
  encodeQuery,
  type ReplyRecord,
  type Response,
  soaRecord,
} from '@kube-dns/testkit';
import { readQuery } from '@kube-dns/wire';
import { AnswerCache, type AnswerCacheOptions, type Hit } from '../cache/answer-cache.js';
import { storeReply } from './cached-answers.js';

const out = new Uint8Array(65_535);

export const SOA = soaRecord(10);

/** A CNAME record. */
export const cname = (owner: string, data: string, ttl = 300) => cnameRecord(owner, data, ttl);

/** A cache for ten records, unless another is created, with a fake clock. */
export class CacheTestbed {
  now = 1_000;
  cache!: AnswerCache;

  constructor() {
    this.create(10);
  }

  /** Replaces the cache by one for this many records. */
  create(maxRecords: number, more: Partial<AnswerCacheOptions> = {}): void {
    this.now = 1_000;
    this.cache = new AnswerCache({ maxRecords, nowSeconds: () => this.now, ...more });
  }

  store(name: string, answers: readonly ReplyRecord[], type = 'A'): void {
    storeReply(this.cache, { name, type }, { answers });
  }

  deny(name: string, response: Partial<Response> = {}): void {
    storeReply(this.cache, { name }, { rcode: 'NXDOMAIN', authorities: [SOA], ...response });
  }

  /** What the cache says of an answer; undefined when there is none. */
  lookup(name: string, type = 'A'): Hit | undefined {
    return this.cache.lookup(readQuery(encodeQuery({ name, type })), out);
  }

  /** The records and TTLs of an answer; undefined when there is none. */
  ask(name: string, type = 'A') {
    const hit = this.lookup(name, type);
    if (hit === undefined) return undefined;
    const { texts, ttls } = decodeMessage(Buffer.from(out.subarray(0, hit.length)));
    return { texts, ttls };
  }

  readonly has = (name: string) => this.ask(name) !== undefined;
}
