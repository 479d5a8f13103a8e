import type { BlockDraft } from '../block-draft.js';
import type { Directive } from '../corefile.js';
import { checkWords, durationMs, fail, wholeNumber, zones } from '../directive-words.js';
import type { CacheBounds, CacheRules } from '../server-block.js';

/** The defaults of coredns plugin/cache (cache.go, New). */
const DEFAULT_CAPACITY = 10_000;
const MAX_TTL = 3_600;
const MAX_DENIAL_TTL = 1_800;
const MIN_TTL = 5;
const SERVFAIL_MS = 5_000;
const PREFETCH_GAP_MS = 60_000;
const PREFETCH_PERCENT = 10;
const STALE_MS = 3_600_000;
/** How long CoreDNS waits for a server (plugin/forward, defaultTimeout): `verify` has no other limit. */
const VERIFY_MS = 5_000;
/** RFC 2308, section 7.1. */
const MAX_SERVFAIL_MS = 300_000;
/** The capacity is that of so many shards with at least four answers each (plugin/pkg/cache). */
const SHARDS = 256;
const MIN_SHARD = 4;

type CacheDraft = { -readonly [K in keyof CacheRules]: CacheRules[K] };

/** Reads `cache [TTL] [ZONES…] { … }`. */
export function readCache(each: Directive, draft: BlockDraft): void {
  const [first = '', ...rest] = each.args;
  const hasTtl = /^[-+]?\d+$/.test(first);
  const ttl = hasTtl ? wholeNumber(each, first, 1) : undefined;
  const rules: CacheDraft = {
    zones: zones(each, hasTtl ? rest : each.args),
    success: bounds(DEFAULT_CAPACITY, ttl ?? MAX_TTL, MIN_TTL),
    denial: bounds(DEFAULT_CAPACITY, ttl ?? MAX_DENIAL_TTL, MIN_TTL),
    servfailMs: SERVFAIL_MS,
    disabledSuccess: [],
    disabledDenial: [],
    prefetch: undefined,
    stale: undefined,
    keepsTtl: false,
  };
  for (const option of each.block ?? []) readOption(option, rules);
  draft.cache = rules;
}

function bounds(words: number, maxTtlSeconds: number, minTtlSeconds: number): CacheBounds {
  const capacity = Math.max(Math.floor(words / SHARDS), MIN_SHARD) * SHARDS;
  return { capacity, maxTtlSeconds, minTtlSeconds };
}

function readOption(option: Directive, rules: CacheDraft): void {
  const [first = ''] = option.args;
  switch (option.name) {
    case 'success':
      rules.success = readBounds(option, rules.success);
      return;
    case 'denial':
      rules.denial = readBounds(option, rules.denial);
      return;
    case 'prefetch':
      rules.prefetch = readPrefetch(option);
      return;
    case 'serve_stale':
      rules.stale = readStale(option);
      return;
    case 'servfail':
      checkWords(option, 1, 1, 'DURATION');
      rules.servfailMs = durationMs(option, first);
      if (rules.servfailMs > MAX_SERVFAIL_MS) fail(option, 'it must not be longer than 5m');
      return;
    case 'disable':
      readDisable(option, rules);
      return;
    case 'keepttl':
      checkWords(option, 0, 0);
      rules.keepsTtl = true;
      return;
    case 'serve_stale_policy':
      return fail(option, 'an expired negative answer is not preferred here: leave it out');
    default:
      return fail(option, 'cache has no such option');
  }
}

function readBounds(option: Directive, previous: CacheBounds): CacheBounds {
  checkWords(option, 1, 3, 'CAPACITY [TTL] [MINTTL]');
  const [capacity = '', maxTtl, minTtl] = option.args;
  return bounds(
    wholeNumber(option, capacity),
    maxTtl === undefined ? previous.maxTtlSeconds : wholeNumber(option, maxTtl, 1),
    minTtl === undefined ? previous.minTtlSeconds : wholeNumber(option, minTtl),
  );
}

function readPrefetch(option: Directive): CacheRules['prefetch'] {
  checkWords(option, 1, 3, 'AMOUNT [DURATION] [PERCENTAGE%]');
  const [amount = '', gap, share = `${PREFETCH_PERCENT}%`] = option.args;
  const hits = wholeNumber(option, amount);
  const gapMs = gap === undefined ? PREFETCH_GAP_MS : durationMs(option, gap);
  if (!share.endsWith('%')) fail(option, `${JSON.stringify(share)} does not end in %`);
  const percent = wholeNumber(option, share.slice(0, -1), 10, 90);
  return hits === 0 ? undefined : { hits, gapMs, percent };
}

/** `serve_stale [DURATION] [immediate|verify [TIMEOUT]]`. */
function readStale(option: Directive): CacheRules['stale'] {
  const [age, mode = 'immediate', timeout, ...rest] = option.args;
  const ageMs = age === undefined ? STALE_MS : durationMs(option, age);
  const isVerified = /^verify$/i.test(mode);
  if (!isVerified && !/^immediate$/i.test(mode)) {
    fail(option, `${JSON.stringify(mode)} is neither immediate nor verify`);
  }
  if (rest.length > 0 || (timeout !== undefined && !isVerified)) {
    fail(option, 'the TTL and the recheck of expired answers are fixed here: leave them out');
  }
  if (ageMs === 0) return undefined;
  const verifyMs = timeout === undefined ? VERIFY_MS : durationMs(option, timeout);
  return { maxAgeSeconds: ageMs / 1_000, verifyMs: isVerified ? verifyMs : undefined };
}

function readDisable(option: Directive, rules: CacheDraft): void {
  const [kind, ...names] = option.args;
  const disabled = names.length === 0 ? ['.'] : zones(option, names);
  if (kind === 'success') rules.disabledSuccess = disabled;
  else if (kind === 'denial') rules.disabledDenial = disabled;
  else fail(option, 'it is disable success|denial [ZONES…]');
}
