import type { DnsSetup, SetupDraft } from '../dns-setup.js';
import { directive, type Directive } from './corefile.js';

/** The defaults of coredns plugin/cache: its size and longest TTLs. */
const DEFAULT_SIZE = 9984;
const DEFAULT_TTL = { success: 3600, denial: 1800 };

/** Receives what dnsmasq does not have, and what it does in another way. */
interface CacheNotes {
  readonly lose: (directive: Directive, reason: string) => void;
  readonly change: (directive: Directive, reason: string) => void;
}

/** The directive `cache` of a setup; none when there is no cache. */
export function cacheDirective(setup: DnsSetup): Directive[] {
  const { cacheSize, cachesNegativeAnswers, staleSeconds } = setup;
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
        ...(staleSeconds === 0 ? [] : [directive('serve_stale', [`${staleSeconds}s`])]),
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
  const { name, args } = option;
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
    case 'serve_stale': {
      const seconds = secondsOf(args[0] ?? '1h');
      if (seconds === undefined || args.length > 1) lose(option, 'dnsmasq has a duration only');
      if (seconds !== undefined) draft.staleSeconds = seconds;
      return;
    }
    default:
      lose(option, 'dnsmasq has nothing like it');
  }
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
