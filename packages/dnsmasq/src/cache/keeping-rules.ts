import { TYPE } from '@kube-dns/wire';
import type { DnsmasqOptions } from '../options/option-values.js';
import type { KeepingRules } from './reply-reader.js';

/** The rules for caching answers in the command line. */
export function keepingRules(options: DnsmasqOptions): KeepingRules {
  const extraTypes = new Set(options.cachedTypes);
  const isEveryType = extraTypes.has(TYPE.ANY);
  return {
    isExtraType: (type) => isEveryType || extraTypes.has(type),
    keepsDenials: options.keepsNegatives,
    negativeTtlSeconds: options.negTtlSeconds,
    minTtlSeconds: options.minCacheTtlSeconds,
    maxTtlSeconds: options.maxCacheTtlSeconds,
    keepsZeroTtls: options.maxStaleSeconds > 0,
  };
}
