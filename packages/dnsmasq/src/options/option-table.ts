import { isIP } from 'node:net';
import { OptionError } from '../errors.js';
import type { DnsmasqOptions } from './option-values.js';
import { parseServerRule } from './server-value.js';

/** One option of dnsmasq: its spellings, whether it takes a value, and what it does. */
export interface OptionDefinition {
  readonly name: string;
  /** The letter behind a single dash; empty where there is none. */
  readonly short: string;
  /** A value that may be left out can be given with `=` only. */
  readonly value: 'none' | 'required' | 'optional';
  readonly help: string;
  apply(options: DnsmasqOptions, value: string): void;
}

/** dnsmasq's own limits (src/config.h, src/option.c, RFC 1035 section 2.3.4). */
const MAX_CACHE_SIZE = 5_000_000;
const MAX_MIN_CACHE_TTL_SECONDS = 3_600;
const MIN_UDP_BYTES = 512;

function wholeNumber(value: string, max = 2 ** 31 - 1): number {
  const number = /^[0-9]+$/.test(value) ? Number(value) : Number.POSITIVE_INFINITY;
  if (number > max) throw new OptionError(`bad number ${JSON.stringify(value)}`);
  return number;
}

function flag(
  name: string,
  short: string,
  help: string,
  apply: (options: DnsmasqOptions) => void,
): OptionDefinition {
  return { name, short, value: 'none', help, apply };
}

function setting(
  name: string,
  short: string,
  help: string,
  apply: (options: DnsmasqOptions, value: string) => void,
): OptionDefinition {
  return { name, short, value: 'required', help, apply };
}

const serverRule = (options: DnsmasqOptions, value: string) =>
  void options.serverRules.push(parseServerRule(value));

/** Every option that is known; one that is not in here is refused by name. */
export const OPTIONS: readonly OptionDefinition[] = [
  {
    name: 'cache-size',
    short: 'c',
    value: 'optional',
    help: 'records that the cache holds; 0 turns it off (default 150)',
    apply: (options, value) => {
      options.cacheSize = Math.min(wholeNumber(value), MAX_CACHE_SIZE);
    },
  },
  setting(
    'dns-forward-max',
    '0',
    'questions under way at most (default 1500)',
    (options, value) => {
      options.maxInFlight = wholeNumber(value);
    },
  ),
  flag('dns-loop-detect', '', 'find and drop servers that send queries back', (options) => {
    options.detectsLoops = true;
  }),
  setting(
    'edns-packet-max',
    'P',
    'largest UDP answer in bytes (default 1232)',
    (options, value) => {
      options.maxUdpBytes = Math.max(wholeNumber(value, 65_535), MIN_UDP_BYTES);
    },
  ),
  flag('keep-in-foreground', 'k', 'accepted: it always stays in the foreground', () => undefined),
  setting('listen-address', 'a', 'address to serve on (default all)', (options, value) => {
    for (const address of value.split(',')) {
      if (isIP(address) === 0) throw new OptionError(`bad address ${JSON.stringify(address)}`);
      options.listenAddresses.push(address);
    }
  }),
  setting('local', '', 'same as server', serverRule),
  setting(
    'log-facility',
    '8',
    'accepted with - only: the log goes to stderr',
    (_options, value) => {
      if (value !== '-') throw new OptionError(`unsupported log facility ${JSON.stringify(value)}`);
    },
  ),
  setting('max-cache-ttl', '', 'ceiling on TTLs in the cache, seconds', (options, value) => {
    options.maxCacheTtlSeconds = wholeNumber(value);
  }),
  setting('max-ttl', '', 'ceiling on TTLs sent to clients, seconds', (options, value) => {
    options.maxTtlSeconds = wholeNumber(value);
  }),
  setting('min-cache-ttl', '', 'floor on TTLs in the cache, seconds', (options, value) => {
    options.minCacheTtlSeconds = Math.min(wholeNumber(value), MAX_MIN_CACHE_TTL_SECONDS);
  }),
  flag('no-negcache', 'N', 'accepted: denials are not kept in any case', () => undefined),
  flag('no-resolv', 'R', 'do not read the resolv file', (options) => {
    options.usesResolvFile = false;
  }),
  setting(
    'port',
    'p',
    'port to serve on, UDP and TCP; 0 takes a free one (default 53)',
    (options, value) => {
      options.port = wholeNumber(value, 65_535);
    },
  ),
  {
    name: 'resolv-file',
    short: 'r',
    value: 'optional',
    help: 'file with the default name servers; empty is none (default /etc/resolv.conf)',
    apply: (options, value) => {
      options.resolvFile = value;
    },
  },
  setting('server', 'S', '[/domain/…/]IP[#port]: where questions go', serverRule),
  flag('test', '', 'check the options and exit', (options) => {
    options.isTest = true;
  }),
];
