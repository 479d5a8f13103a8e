import type { DnsmasqOptions } from '../options/option-values.js';

/** How large an AnswerCache is, and what becomes of TTLs. */
export interface AnswerCacheOptions {
  /** Records that are kept at most; 0 keeps nothing. */
  readonly maxRecords: number;
  /** Ceiling on the TTLs that clients see, in seconds; 0 is none. */
  readonly maxTtlSeconds?: number;
  /** How long an answer is served past its time, in seconds; 0, unless said otherwise, is not at all. */
  readonly maxStaleSeconds?: number;
  /** Each answer has its records one further on; true unless said otherwise. */
  readonly turnsRecords?: boolean;
  /** Seconds that never fall; the process's own clock unless said otherwise. */
  readonly nowSeconds?: () => number;
}

/** What the command line says about the cache. */
export function cacheOptions(options: DnsmasqOptions): AnswerCacheOptions {
  const { cacheSize: maxRecords, maxTtlSeconds, maxStaleSeconds, turnsRecords } = options;
  return { maxRecords, maxTtlSeconds, maxStaleSeconds, turnsRecords };
}
