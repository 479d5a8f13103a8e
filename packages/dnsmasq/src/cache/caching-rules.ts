import { TYPE } from '@kube-dns/wire';
import type { DnsmasqOptions } from '../options/option-values.js';
import type { CachingRules } from './reply-reader.js';

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
