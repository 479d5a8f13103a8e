import type { Subscriptions } from '@kube-dns/push';
import type { AnswerCacheOptions, CachingRules } from '@kube-dns/resolver';
import { TYPE } from '@kube-dns/wire';
import type { DnsmasqOptions } from './option-table.js';

/** The options of the cache in the command line; `lastSeen` and `lastSeenEver` are those of the subscriptions. */
export function cacheOptions(
  options: DnsmasqOptions,
  { lastSeen: heardAt, lastSeenEver }: Pick<Subscriptions, 'lastSeen' | 'lastSeenEver'>,
): AnswerCacheOptions {
  const { cacheSize: maxRecords, maxTtlSeconds, stale, rotatesRecords } = options;
  const lastHeardAt = stale && lastSeenEver;
  const maxStaleSeconds = stale?.maxAgeSeconds ?? options.maxStaleSeconds;
  const staleTtlSeconds = stale?.ttlSeconds ?? 0;
  const countsHits = options.prefetch !== undefined;
  return {
    maxRecords,
    maxTtlSeconds,
    maxStaleSeconds,
    staleTtlSeconds,
    rotatesRecords,
    countsHits,
    heardAt,
    lastHeardAt,
  };
}

/** The rules for caching answers in the command line. */
export function cachingRules(options: DnsmasqOptions): CachingRules {
  const extraTypes = new Set(options.cachedTypes);
  const isEveryType = extraTypes.has(TYPE.ANY);
  return {
    isExtraType: (type) => isEveryType || extraTypes.has(type),
    cachesNegatives: options.cachesNegatives,
    cachesToldNegatives: options.cachesToldNegatives,
    negativeTtlSeconds: options.negTtlSeconds,
    minTtlSeconds: options.minCacheTtlSeconds,
    maxTtlSeconds: options.maxCacheTtlSeconds,
    cachesZeroTtls: options.maxStaleSeconds > 0,
  };
}
