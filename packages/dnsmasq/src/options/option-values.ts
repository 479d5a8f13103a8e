import type { ServerRule } from './server-value.js';

/** What dnsmasq's half of the command line says; defaults are dnsmasq's unless a field says so. */
export interface DnsmasqOptions {
  /** 0 takes a free port; dnsmasq itself would serve no DNS then. */
  port: number;
  /** None means every address. */
  listenAddresses: string[];
  /** Records that the cache holds; 0 turns it off. */
  cacheSize: number;
  /** Ceiling on TTLs sent to clients, in seconds; 0 is none. */
  maxTtlSeconds: number;
  /** Ceiling and floor on TTLs in the cache, in seconds; 0 is none. */
  maxCacheTtlSeconds: number;
  minCacheTtlSeconds: number;
  /** Questions under way; ten times dnsmasq's own default, which a cluster outgrows. */
  maxInFlight: number;
  maxUdpBytes: number;
  serverRules: ServerRule[];
  usesResolvFile: boolean;
  /** Empty means none. */
  resolvFile: string;
  detectsLoops: boolean;
  isTest: boolean;
}

/** The options of an empty command line. */
export function defaultOptions(): DnsmasqOptions {
  return {
    port: 53,
    listenAddresses: [],
    cacheSize: 150,
    maxTtlSeconds: 0,
    maxCacheTtlSeconds: 0,
    minCacheTtlSeconds: 0,
    maxInFlight: 1_500,
    maxUdpBytes: 1232,
    serverRules: [],
    usesResolvFile: true,
    resolvFile: '/etc/resolv.conf',
    detectsLoops: false,
    isTest: false,
  };
}
