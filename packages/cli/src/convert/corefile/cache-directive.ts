import { directive, type Directive } from '@kube-dns/node-cache/corefile';
import {
  durationMs,
  NO_STALE,
  STALE_TTL,
  WAIT_MS,
  type DnsSetup,
  type PrefetchSetup,
  type SetupDraft,
  type StaleSetup,
} from '../dns-setup.js';

/** The defaults of coredns plugin/cache: its size and longest TTLs. */
const DEFAULT_SIZE = 9984;
const DEFAULT_TTL = { success: 3600, denial: 1800 };
/** How often dnsmasq asks for an expired answer. */
const RECHECK_MS = 30_000;
/** Hits without a longer gap than that count; the default. */
const PREFETCH_GAP = '1m';
/** The most hits of dnsmasq's `--prefetch`. */
const MAX_HITS = 254;

/** Receives what dnsmasq does not have, and what it does in another way. */
interface CacheNotes {
  readonly lose: (directive: Directive, reason: string) => void;
  readonly change: (directive: Directive, reason: string) => void;
}

/** The directive `cache` of a setup; none when there is no cache. */
export function cacheDirective(setup: DnsSetup): Directive[] {
  const { cacheSize, cachesNegativeAnswers, stale, prefetch } = setup;
  if (cacheSize === 0) return [];
  return [
    directive(
      'cache',
      [],
      [
        directive('success', sizes('success', setup)),
        cachesNegativeAnswers
          ? directive('denial', sizes('denial', setup))
          : directive('disable', ['denial']),
        ...serveStale(stale),
        ...(prefetch === undefined ? [] : [directive('prefetch', prefetchWords(prefetch))]),
      ],
    ),
  ];
}

/** Size, ceiling and floor; defaults at the end are left out. */
function sizes(kind: 'success' | 'denial', { cacheSize, maxTtl, minTtl }: DnsSetup): string[] {
  const ceiling = `${maxTtl === 0 ? DEFAULT_TTL[kind] : maxTtl}`;
  if (minTtl > 0) return [`${cacheSize}`, ceiling, `${minTtl}`];
  return maxTtl > 0 ? [`${cacheSize}`, ceiling] : [`${cacheSize}`];
}

/** Reads a directive `cache` into a draft; `notes` receives each part without a counterpart in dnsmasq. */
export function readCache(cache: Directive, draft: SetupDraft, notes: CacheNotes): void {
  draft.cacheSize = DEFAULT_SIZE;
  draft.cachesNegativeAnswers = true;
  draft.maxTtl = 0;
  const [first = '', ...zones] = cache.args;
  const hasTtl = isNumber(first);
  if (hasTtl) draft.maxTtl = Number(first);
  if (zones.length > 0 || (first !== '' && !hasTtl))
    notes.lose(cache, 'dnsmasq has one cache for all');
  for (const option of cache.block ?? []) readOption(option, draft, notes);
}

function readOption(option: Directive, draft: SetupDraft, notes: CacheNotes): void {
  const { name } = option;
  const { lose } = notes;
  switch (name) {
    case 'success':
      readSuccess(option, draft, notes);
      return;
    case 'denial':
      readDenial(option, draft, notes);
      return;
    case 'disable':
      readDisable(option, draft, notes);
      return;
    case 'serve_stale':
      readServeStale(option, draft, notes);
      return;
    case 'prefetch':
      readPrefetchWords(option, draft, notes);
      return;
    default:
      lose(option, 'dnsmasq has nothing like it');
  }
}

/** `serve_stale [DURATION] [immediate|verify [TIMEOUT]] [TTL] [RECHECK]`; a recheck every 30 s is ours. */
function serveStale({ seconds, waitMs, ttl }: StaleSetup): Directive[] {
  if (seconds === 0) return [];
  const waiting = waitMs === undefined ? [] : ['verify', `${waitMs}ms`, `${ttl}s`];
  return [directive('serve_stale', [`${seconds}s`, ...waiting])];
}

function readServeStale(option: Directive, draft: SetupDraft, { lose, change }: CacheNotes): void {
  const [age = '1h', mode = 'immediate', ...rest] = option.args;
  const seconds = secondsOf(age);
  const times = rest.map(durationMs);
  if (seconds === undefined || times.includes(undefined) || !/^(?:immediate|verify)$/.test(mode)) {
    lose(option, 'not [DURATION] [immediate|verify [TIMEOUT]] [TTL] [RECHECK]');
    return;
  }
  if (mode === 'immediate') {
    draft.stale = { ...NO_STALE, seconds };
    if (rest.length > 0) lose(option, 'dnsmasq has a duration only');
    return;
  }
  const [waitMs = WAIT_MS, ttlMs, recheckMs = RECHECK_MS] = times;
  const ttl = ttlMs === undefined ? STALE_TTL : Math.max(1, Math.floor(ttlMs / 1_000));
  draft.stale = { seconds, waitMs, ttl };
  if (rest.length === 0) change(option, 'clients get an expired answer after 1.8 s');
  if (ttlMs !== ttl * 1_000) change(option, `clients get expired answers with a TTL of ${ttl} s`);
  if (recheckMs !== RECHECK_MS || rest.length > 3) lose(option, 'a recheck is every 30 s');
}

/** `prefetch AMOUNT [DURATION [PERCENTAGE%]]`. */
function prefetchWords({ hits, percent }: PrefetchSetup): string[] {
  return [`${hits}`, PREFETCH_GAP, `${percent}%`];
}

function readPrefetchWords(option: Directive, draft: SetupDraft, notes: CacheNotes): void {
  const [amount = '', gap = PREFETCH_GAP, share = '10%', ...rest] = option.args;
  const [, percent] = /^(\d{1,2})%$/.exec(share) ?? [];
  const isKnown = isNumber(amount) && Number(amount) > 0 && percent !== undefined;
  if (!isKnown || rest.length > 0) {
    notes.lose(option, 'not AMOUNT [DURATION [PERCENTAGE%]]');
    return;
  }
  const hits = Math.min(Number(amount), MAX_HITS);
  draft.prefetch = { hits, percent: Number(percent) };
  if (gap !== PREFETCH_GAP) notes.change(option, 'hits are counted since the answer came');
  if (hits < Number(amount)) notes.change(option, `dnsmasq counts ${MAX_HITS} hits`);
}

/** `disable success|denial [ZONES…]`: without zones, that of the server block. */
function readDisable(option: Directive, draft: SetupDraft, { lose, change }: CacheNotes): void {
  const [kind, ...zones] = option.args;
  if (kind !== 'success' && kind !== 'denial') lose(option, 'neither success nor denial');
  else if (zones.length > 0 && !zones.includes('.')) {
    // The addon of kubeadm does so for the zone of the cluster.
    change(option, 'dnsmasq caches the names of every domain, for their TTL at most');
  } else if (kind === 'denial') draft.cachesNegativeAnswers = false;
  else {
    draft.cacheSize = 0;
    change(option, 'dnsmasq has no cache, then: negative answers are not cached either');
  }
}

function readSuccess(option: Directive, draft: SetupDraft, { lose }: CacheNotes): void {
  if (!option.args.every(isNumber) || option.args.length > 3) {
    lose(option, 'not SIZE [TTL [TTL]]');
    return;
  }
  const [size = DEFAULT_SIZE, ceiling, floor = 0] = option.args.map(Number);
  draft.cacheSize = size;
  draft.minTtl = floor;
  if (ceiling !== undefined) draft.maxTtl = ceiling === DEFAULT_TTL.success ? 0 : ceiling;
}

/** dnsmasq has one size, one ceiling and one floor for answers and negative answers. */
function readDenial(option: Directive, draft: SetupDraft, { lose }: CacheNotes): void {
  const [size, ceiling, floor] = option.args.map(Number);
  const usual = draft.maxTtl === 0 ? DEFAULT_TTL.denial : draft.maxTtl;
  const isSame =
    (size === undefined || size === draft.cacheSize) &&
    (ceiling === undefined || ceiling === usual) &&
    (floor ?? 0) === draft.minTtl;
  if (!isSame)
    lose(option, 'dnsmasq has one size, ceiling and floor for answers and negative answers');
}

function isNumber(text: string): boolean {
  return /^\d{1,9}$/.test(text);
}

/** Whole seconds of a duration as Go writes it; undefined for any other. */
export function secondsOf(text: string): number | undefined {
  const [, hours = 0, minutes = 0, seconds = 0] =
    /^(?=\d)(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text) ?? [];
  const total = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  return /^(?:\d+[hms])+$/.test(text) ? total : undefined;
}
