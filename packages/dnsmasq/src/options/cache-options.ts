import { OptionError } from '../errors.js';
import { wholeNumber } from './number-value.js';
import { fields, flag, type OptionDefinition, setting } from './option-definition.js';
import { parsePrefetch } from './prefetch-value.js';
import { parseType } from './rr-type.js';
import { parseStale } from './stale-value.js';

/** dnsmasq's own limits (src/config.h, src/option.c). */
const MAX_CACHE_SIZE = 5_000_000;
const MAX_MIN_CACHE_TTL_SECONDS = 3_600;
const STALE_SECONDS = 86_400;

/** What is cached and for how long. */
export const CACHE_OPTIONS: readonly OptionDefinition[] = [
  fields(
    'cache-rr',
    '',
    'types to cache in addition to A, AAAA, PTR and SRV; ANY is all',
    (draft, values) => {
      const types = values.map((field) => parseType(field, 'bad RR type'));
      draft.cachedTypes.push(...types);
    },
  ),
  setting(
    'cache-size',
    'c',
    'records that the cache holds; 0 turns it off (default 150)',
    (draft, value) => {
      draft.cacheSize = Math.min(wholeNumber(value), MAX_CACHE_SIZE);
    },
    'optional',
  ),
  setting(
    'local-ttl',
    'T',
    'TTL of records from hosts files and of static records, seconds (default 0)',
    (draft, value) => {
      draft.localTtlSeconds = wholeNumber(value);
    },
  ),
  setting(
    'max-cache-ttl',
    '',
    'ceiling on TTLs in the cache, seconds (default 86400; 0: none)',
    (draft, value) => {
      draft.maxCacheTtlSeconds = wholeNumber(value);
    },
  ),
  setting('max-ttl', '', 'ceiling on TTLs sent to clients, seconds', (draft, value) => {
    draft.maxTtlSeconds = wholeNumber(value);
  }),
  setting(
    'min-cache-ttl',
    '',
    'floor on TTLs in the cache, seconds, 3600 at most',
    (draft, value) => {
      draft.minCacheTtlSeconds = Math.min(wholeNumber(value), MAX_MIN_CACHE_TTL_SECONDS);
    },
  ),
  setting(
    'neg-ttl',
    '',
    'TTL of negative answers without an SOA, seconds (default 0)',
    (draft, value) => {
      draft.negTtlSeconds = wholeNumber(value);
    },
  ),
  setting(
    'negcache',
    '',
    'push: cache negative answers of zones whose server tells their changes, also with --no-negcache',
    (draft, value) => {
      if (value !== 'push') throw new OptionError('bad value, must be push');
      draft.cachesToldNegatives = true;
    },
  ),
  flag('no-negcache', 'N', 'do not cache negative answers', (draft) => {
    draft.cachesNegatives = false;
  }),
  flag('no-subscribe', '', 'do not ask servers of domains to tell what changes there', (draft) => {
    draft.subscribes = false;
  }),
  flag('no-tell-changes', '', 'do not tell subscribers what servers of domains tell', (draft) => {
    draft.tellsChanges = false;
  }),
  flag('no-round-robin', '', 'do not rotate the records of an RRset', (draft) => {
    draft.rotatesRecords = false;
  }),
  setting(
    'prefetch',
    '',
    'extension: HITS[,PERCENT]: ask again before answers expire that were asked for so often (default 3,10)',
    (draft, value) => {
      draft.prefetch = parsePrefetch(value);
    },
    'optional',
  ),
  setting(
    'stale',
    '',
    'extension: TIMEOUT[,MAXAGE[,TTL]]: serve expired answers when there is no reply in time (default MAXAGE 1h, TTL 30)',
    (draft, value) => {
      draft.stale = parseStale(value);
    },
  ),
  setting(
    'use-stale-cache',
    '',
    'serve expired answers for up to this many seconds while refreshing them (default 86400; 0: no limit)',
    (draft, value) => {
      const seconds = value === '' ? STALE_SECONDS : wholeNumber(value);
      draft.maxStaleSeconds = seconds === 0 ? Number.POSITIVE_INFINITY : seconds;
    },
    'optional',
  ),
];
