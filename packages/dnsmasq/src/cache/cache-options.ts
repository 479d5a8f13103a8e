import type { DnsmasqOptions } from '../options/option-values.js';
import type { AnswerCacheOptions } from './answer-cache-options.js';

/** What the command line says about the cache. */
export function cacheOptions(options: DnsmasqOptions): AnswerCacheOptions {
  const { cacheSize: maxRecords, maxTtlSeconds, maxStaleSeconds, turnsRecords } = options;
  return { maxRecords, maxTtlSeconds, maxStaleSeconds, turnsRecords };
}
