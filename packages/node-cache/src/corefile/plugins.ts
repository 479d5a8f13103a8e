import { isIP } from 'node:net';
import { errorText, isWithin, MAX_TIMER_MS, quote } from '@kube-dns/base';
import { isIpAddress } from '@kube-dns/daemon';
import { type Nat64Prefix, parseNat64Prefix, WELL_KNOWN_PREFIX } from '@kube-dns/resolver';
import type { Directive, WrittenBlock } from './corefile.js';
import { readForwardTarget, UNKNOWN_ADDRESS } from './forward-target.js';
import { readPattern, readRewrite } from './rewrite.js';
import {
  type CacheBounds,
  type CacheRules,
  type Draft,
  type ErrorPattern,
  type ForwardRules,
  type HostsRules,
  type LogRules,
  type ServerBlock,
} from './server-block.js';
import { readTemplate } from './template.js';
import {
  checkAlone,
  checkNoBlock,
  checkWords,
  durationMs,
  fail,
  httpAddress,
  ignore,
  oneWord,
  wholeNumber,
  zones,
} from './words.js';

/** What of the machine a Corefile names. */
export interface CorefileHost {
  /** The addresses of an interface by its name; undefined for one that does not exist. */
  readonly interfaceAddresses: (name: string) => readonly string[] | undefined;
}

interface Plugin {
  /** Reads one directive into a draft; throws. */
  readonly read: (each: Directive, draft: Draft<ServerBlock>, host: CorefileHost) => void;
  /** Whether a block may have several. */
  readonly isRepeated?: boolean;
}

/** The plugins that are obeyed, or change nothing here. */
export const PLUGINS: ReadonlyMap<string, Plugin> = new Map<string, Plugin>([
  ['bind', { read: readBind, isRepeated: true }],
  ['bufsize', { read: readBufsize }],
  ['cache', { read: readCache }],
  // What it logs is logged with `--v=4`.
  ['debug', { read: checkAlone, isRepeated: true }],
  ['dns64', { read: readDns64 }],
  ['errors', { read: readErrors }],
  ['forward', { read: readForward, isRepeated: true }],
  ['health', { read: readHealth, isRepeated: true }],
  ['hosts', { read: readHosts }],
  ['loadbalance', { read: readLoadbalance }],
  ['log', { read: readLog, isRepeated: true }],
  ['loop', { read: readLoop }],
  ['metadata', { read: checkMetadata }],
  ['prometheus', { read: readPrometheus }],
  ['ready', { read: readReady }],
  ['reload', { read: checkReload, isRepeated: true }],
  ['rewrite', { read: readRewrite, isRepeated: true }],
  ['template', { read: readTemplate, isRepeated: true }],
]);

/** The other plugins of node-cache and CoreDNS: why each is refused, and what to do. */
export const REFUSED: ReadonlyMap<string, string> = new Map([
  ['acl', 'clients are not filtered: use a NetworkPolicy'],
  ['any', 'leave it out: ANY is forwarded'],
  ['autopath', 'it needs to watch pods: give them fewer search domains, or a name a last dot'],
  ['dnstap', 'no traffic is copied: use log'],
  ['kubernetes', 'the cluster is not watched on each node: forward to its DNS'],
  ['minimal', 'answers are passed on as they are: leave it out'],
  ['nsid', 'leave it out: no name of the server is given'],
  ['root', 'leave it out: write paths from /'],
  ['tls', 'only plain DNS is served: leave it out'],
  ['view', 'clients are not distinguished: write one block for each zone'],
  ['whoami', 'it is for tests of CoreDNS: leave it out'],
]);

/** Those that are accepted, with a line of the log: no answer is another without them. */
const WITHOUT_EFFECT: ReadonlyMap<string, string> = new Map([
  ['pprof', 'it profiles Go'],
  ['timeouts', 'the time-outs of TCP are fixed'],
  ['trace', 'no spans are sent'],
]);

/** Why a directive changes nothing although CoreDNS has something for it; undefined for another one. */
export function withoutEffect({ name }: Directive, block: WrittenBlock): string | undefined {
  // In the order of CoreDNS's plugins it is behind forward.
  const isForwarded = block.directives.some((other) => other.name === 'forward');
  if (name === 'whoami' && isForwarded) return 'forward has answered before it';
  return WITHOUT_EFFECT.get(name);
}

/** What `-plugins` prints: the plugins that are obeyed, one a line. */
export function pluginsText(): string {
  return [...PLUGINS.keys()].map((name) => `${name}\n`).join('');
}

/** `bind ADDRESS|INTERFACE… { except ADDRESS|INTERFACE… }`; several add up. */
function readBind(each: Directive, draft: Draft<ServerBlock>, host: CorefileHost): void {
  if (each.args.length === 0) fail(each, 'at least one address or interface name is expected');
  const except = new Set(
    (each.block ?? []).flatMap((option) => {
      if (option.name !== 'except') fail(option, 'bind has no such option');
      checkWords(option, 1, Infinity, 'ADDRESS…');
      return boundAddresses(option, host);
    }),
  );
  const own = boundAddresses(each, host).filter((address) => !except.has(address));
  // None would be every address.
  if (own.length === 0) fail(each, 'no address is left to listen on');
  draft.addresses = [...draft.addresses, ...own];
}

function boundAddresses(each: Directive, { interfaceAddresses }: CorefileHost): string[] {
  return each.args.flatMap((word) => {
    const ofInterface = interfaceAddresses(word);
    if (ofInterface !== undefined) return ofInterface;
    if (isIpAddress(word)) return word;
    return fail(each, `not a valid IP address or interface name: ${JSON.stringify(word)}`);
  });
}

/** The defaults of coredns plugin/cache (cache.go, New). */
const DEFAULT_CAPACITY = 10_000;
const MAX_CACHE_TTL = 3_600;
const MAX_DENIAL_TTL = 1_800;
const MIN_CACHE_TTL = 5;
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

/** `cache [TTL] [ZONES…] { … }`. */
function readCache(each: Directive, draft: Draft<ServerBlock>): void {
  const [first = '', ...rest] = each.args;
  const hasTtl = /^[-+]?\d+$/.test(first);
  const ttl = hasTtl ? wholeNumber(each, first, 1) : undefined;
  const rules: Draft<CacheRules> = {
    zones: zones(each, hasTtl ? rest : each.args),
    success: cacheBounds(DEFAULT_CAPACITY, ttl ?? MAX_CACHE_TTL, MIN_CACHE_TTL),
    denial: cacheBounds(DEFAULT_CAPACITY, ttl ?? MAX_DENIAL_TTL, MIN_CACHE_TTL),
    servfailMs: SERVFAIL_MS,
    disabledSuccess: [],
    disabledDenial: [],
    prefetch: undefined,
    stale: undefined,
    keepsTtl: false,
  };
  for (const option of each.block ?? []) readCacheOption(option, rules);
  draft.cache = rules;
}

function cacheBounds(words: number, maxTtlSeconds: number, minTtlSeconds: number): CacheBounds {
  const capacity = Math.max(Math.floor(words / SHARDS), MIN_SHARD) * SHARDS;
  return { capacity, maxTtlSeconds, minTtlSeconds };
}

function readCacheOption(option: Directive, rules: Draft<CacheRules>): void {
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
      rules.servfailMs = durationMs(option, oneWord(option, 'DURATION'));
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
  return cacheBounds(
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

function readDisable(option: Directive, rules: Draft<CacheRules>): void {
  const [kind, ...names] = option.args;
  const disabled = names.length === 0 ? ['.'] : zones(option, names);
  if (kind === 'success') rules.disabledSuccess = disabled;
  else if (kind === 'denial') rules.disabledDenial = disabled;
  else fail(option, 'it is disable success|denial [ZONES…]');
}

const LEVELS = ['error', 'warning', 'info', 'debug'] as const;
const SHOW_FIRST = 'show_first';

/** `errors [stdout] { stacktrace; consolidate … }`. */
function readErrors(each: Directive, draft: Draft<ServerBlock>): void {
  if (each.args.join(' ') !== 'stdout') checkWords(each, 0, 0);
  draft.logsErrors = true;
  draft.errorPatterns = (each.block ?? []).flatMap((option) => {
    if (option.name === 'consolidate') return readConsolidate(option);
    // Go's stack traces; an unexpected error is always logged with that of Node.
    if (option.name === 'stacktrace') return [];
    return fail(option, 'errors has no such option');
  });
}

function readConsolidate(option: Directive): ErrorPattern {
  checkWords(option, 2, 4, `PERIOD PATTERN [${LEVELS.join('|')}] [${SHOW_FIRST}]`);
  const [period = '', source = '', ...words] = option.args;
  const showsFirst = words.at(-1) === SHOW_FIRST;
  const [word = 'error', ...rest] = showsFirst ? words.slice(0, -1) : words;
  const level = LEVELS.find((each) => each === word);
  if (level === undefined || rest.length > 0) {
    fail(option, `the words after the pattern are [${LEVELS.join('|')}] [${SHOW_FIRST}]`);
  }
  return {
    periodMs: durationMs(option, period),
    pattern: readPattern(option, source),
    level,
    showsFirst,
  };
}

/** `dns64 [PREFIX] { prefix PREFIX; translate_all; allow_ipv4 }`. */
function readDns64(each: Directive, draft: Draft<ServerBlock>): void {
  checkWords(each, 0, 1, '[PREFIX]');
  const rules = {
    prefix: nat64Prefix(each, each.args[0] ?? WELL_KNOWN_PREFIX),
    excluded: [],
    translatesAll: false,
    servesIpv4: false,
  };
  for (const option of each.block ?? []) {
    switch (option.name) {
      case 'prefix':
        rules.prefix = nat64Prefix(option, oneWord(option, 'PREFIX'));
        break;
      case 'translate_all':
        checkWords(option, 0, 0);
        rules.translatesAll = true;
        break;
      case 'allow_ipv4':
        checkWords(option, 0, 0);
        rules.servesIpv4 = true;
        break;
      default:
        fail(option, 'dns64 has no such option');
    }
  }
  draft.dns64 = rules;
}

function nat64Prefix(each: Directive, text: string): Nat64Prefix {
  try {
    return parseNat64Prefix(text);
  } catch (error) {
    return fail(each, errorText(error));
  }
}

/** The defaults of coredns plugin/forward (forward.go, New). */
const MAX_FAILS = 2;
const EXPIRE_MS = 10_000;
const HEALTH_CHECK_MS = 500;
/** plugin/forward/setup.go, max. */
const MAX_TARGETS = 15;

const POLICIES = ['random', 'round_robin', 'sequential'] as const;

/** Options of CoreDNS that are not obeyed, and what to do. */
const NOT_OBEYED: ReadonlyMap<string, string> = new Map([
  ['next', 'an answer of a server is the answer: leave it out'],
  ['next_on_nodata', 'an answer of a server is the answer: leave it out'],
  ['failover', 'which rcodes are asked of another server is fixed: leave it out'],
  ['max_connect_attempts', 'how often a question is sent is limited by time: leave it out'],
  ['max_idle_conns', 'few connections are used at once: leave it out'],
  ['read_timeout', 'a silent server is left out at once: leave it out'],
  ['doh_method', 'questions over HTTPS are POSTs: leave it out'],
  ['resolver', 'servers are written as IP addresses: leave it out'],
  ['source_address', 'the kernel chooses the source address: leave it out'],
]);

/** `forward FROM TO… { … }`. */
function readForward(each: Directive, draft: Draft<ServerBlock>): void {
  if (draft.forward !== undefined) {
    fail(each, 'there is one forward in a block: write a server block for this zone');
  }
  const [from = '', ...targets] = each.args;
  if (targets.length === 0) fail(each, 'it is forward FROM TO…');
  const rules: Draft<ForwardRules> = {
    from: zones(each, [from])[0]!,
    except: [],
    targets: [],
    protocol: 'client',
    policy: 'random',
    maxFails: MAX_FAILS,
    expireMs: EXPIRE_MS,
    maxAgeMs: 0,
    maxConcurrent: 0,
    healthCheckMs: HEALTH_CHECK_MS,
    tlsCaFile: '',
    failsFastWhenAllDown: false,
    line: each.line,
  };
  let tlsName = '';
  for (const option of each.block ?? []) {
    if (option.name === 'tls_servername') tlsName = oneWord(option, 'NAME');
    else readForwardOption(option, rules);
  }
  const addresses = targets.filter((target) => target !== UNKNOWN_ADDRESS);
  rules.targets = addresses.map((target) => {
    try {
      return readForwardTarget(target, tlsName);
    } catch (error) {
      return fail(each, `${quote(target)}: ${errorText(error)}`);
    }
  });
  // plugin/forward/setup.go, parseStanza: idle ones are not ended here, but what CoreDNS refuses is not obeyed.
  if (rules.maxAgeMs > 0 && rules.maxAgeMs < rules.expireMs)
    fail(each, 'max_age is shorter than expire');
  if (targets.length > MAX_TARGETS) fail(each, `more than ${MAX_TARGETS} servers`);
  draft.forward = rules;
}

function readForwardOption(option: Directive, rules: Draft<ForwardRules>): void {
  switch (option.name) {
    case 'except':
      checkWords(option, 1, Infinity, 'ZONES…');
      rules.except = [...rules.except, ...zones(option, option.args)];
      return;
    case 'force_tcp':
      checkWords(option, 0, 0);
      rules.protocol = 'tcp';
      return;
    case 'prefer_udp':
      checkWords(option, 0, 0);
      // With both CoreDNS uses TCP.
      if (rules.protocol !== 'tcp') rules.protocol = 'udp';
      return;
    case 'policy':
      rules.policy =
        POLICIES.find((policy) => policy === oneWord(option, POLICIES.join('|'))) ??
        fail(option, `unknown policy '${option.args[0]!}'`);
      return;
    case 'max_fails':
      rules.maxFails = wholeNumber(option, oneWord(option, 'NUMBER'));
      return;
    case 'max_concurrent':
      rules.maxConcurrent = wholeNumber(option, oneWord(option, 'NUMBER'));
      return;
    case 'expire':
      rules.expireMs = durationMs(option, oneWord(option, 'DURATION'));
      return;
    case 'max_age':
      rules.maxAgeMs = durationMs(option, oneWord(option, 'DURATION'));
      return;
    case 'health_check':
      if (option.args.length > 1)
        fail(option, 'a check asks in one way: write health_check DURATION');
      rules.healthCheckMs = durationMs(option, oneWord(option, 'DURATION'));
      return;
    case 'tls':
      // An even number of files begins with a certificate and its key.
      if (option.args.length > 1) fail(option, 'a client has no certificate here: write tls [CA]');
      rules.tlsCaFile = option.args[0] ?? '';
      return;
    case 'failfast_all_unhealthy_upstreams':
      checkWords(option, 0, 0);
      rules.failsFastWhenAllDown = true;
      return;
    default:
      return fail(option, NOT_OBEYED.get(option.name) ?? 'forward has no such option');
  }
}

/** The defaults of coredns plugin/hosts. */
const HOSTS_FILE = '/etc/hosts';
const HOSTS_TTL = 3_600;
const HOSTS_RELOAD_MS = 5_000;
const MAX_HOSTS_TTL = 65_535;

/** `hosts [FILE [ZONES…]] { … }`. */
function readHosts(each: Directive, draft: Draft<ServerBlock>): void {
  const [file = HOSTS_FILE, ...names] = each.args;
  if (!file.startsWith('/')) fail(each, `${JSON.stringify(file)}: write its path from /`);
  const rules: Draft<HostsRules> = {
    file,
    zones: zones(each, names),
    lines: [],
    ttlSeconds: HOSTS_TTL,
    reloadMs: HOSTS_RELOAD_MS,
    hasReverse: true,
    fallthrough: undefined,
  };
  for (const option of each.block ?? []) readHostsOption(option, rules);
  draft.hosts = rules;
}

function readHostsOption(option: Directive, rules: Draft<HostsRules>): void {
  const { name, args } = option;
  switch (name) {
    case 'fallthrough':
      rules.fallthrough = args.length === 0 ? ['.'] : zones(option, args);
      return;
    case 'no_reverse':
      checkWords(option, 0, 0);
      rules.hasReverse = false;
      return;
    case 'ttl':
      rules.ttlSeconds = wholeNumber(option, oneWord(option, 'SECONDS'), 1, MAX_HOSTS_TTL);
      return;
    case 'reload':
      rules.reloadMs = durationMs(option, oneWord(option, 'DURATION'));
      return;
    default:
      if (isIP(name) === 0 || args.length === 0)
        fail(option, 'neither ADDRESS NAME… nor an option');
      if (rules.fallthrough !== undefined) fail(option, 'write it before fallthrough');
      rules.lines = [...rules.lines, [name, ...args].join(' ')];
  }
}

/** The defaults of CoreDNS' plugins. */
const HEALTH = ':8080';
const READY = ':8181';
const METRICS = 'localhost:9153';

/** `health [ADDRESS] { lameduck DURATION }`. */
function readHealth(each: Directive, draft: Draft<ServerBlock>): void {
  checkWords(each, 0, 1, '[ADDRESS]');
  let lameduckMs = 0;
  for (const option of each.block ?? []) {
    if (option.name !== 'lameduck') fail(option, 'health has no such option');
    lameduckMs = Math.min(durationMs(option, oneWord(option, 'DURATION')), MAX_TIMER_MS);
  }
  draft.health = { ...httpAddress(each, each.args[0] ?? HEALTH), lameduckMs };
}

/** `ready [ADDRESS] { monitor continuously }`. */
function readReady(each: Directive, draft: Draft<ServerBlock>): void {
  checkWords(each, 0, 1, '[ADDRESS]');
  for (const option of each.block ?? []) {
    const isContinuous = option.name === 'monitor' && option.args.join(' ') === 'continuously';
    if (!isContinuous) fail(option, 'it always says how it is now: leave it out');
  }
  draft.ready = httpAddress(each, each.args[0] ?? READY);
}

/** `prometheus [ADDRESS]`. */
function readPrometheus(each: Directive, draft: Draft<ServerBlock>): void {
  checkWords(each, 0, 1, '[ADDRESS]');
  checkNoBlock(each);
  draft.metrics = httpAddress(each, each.args[0] ?? METRICS);
}

/** coredns plugin/log, CommonLogFormat and what CombinedLogFormat adds. */
const COMMON =
  '{remote}:{port} - {>id} "{type} {class} {name} {proto} {size} {>do} {>bufsize}" {rcode} {>rflags} {rsize} {duration}';
const COMBINED = `${COMMON} "{>opcode}"`;

const CLASSES = ['all', 'success', 'denial', 'error'] as const;

/** `log [ZONES…] [FORMAT] { class … }`. */
function readLog(each: Directive, draft: Draft<ServerBlock>): void {
  const { args } = each;
  const hasFormat = args.length > 0 && args.at(-1)!.includes('{');
  if (hasFormat && args.length === 1)
    fail(each, 'a format has a zone before it: write log . FORMAT');
  const format = hasFormat ? args.at(-1)! : '{common}';
  if (format.includes('{/')) fail(each, 'metadata cannot be logged: leave out what begins with {/');
  const own = args.length === 0 ? ['.'] : zones(each, hasFormat ? args.slice(0, -1) : args);
  const { log } = draft;
  if (log !== undefined) {
    if (!own.every((zone) => log.zones.some((other) => isWithin(zone, other)))) {
      fail(each, 'there is one log in a block: name its zones in one line');
    }
    ignore(each, 'the log before it has these names', draft);
    return;
  }
  draft.log = {
    zones: own,
    format: format.replaceAll('{common}', COMMON).replaceAll('{combined}', COMBINED),
    classes: readClasses(each.block ?? []),
  };
}

function readClasses(options: readonly Directive[]): LogRules['classes'] {
  const classes = options.flatMap((option) => {
    if (option.name !== 'class') fail(option, 'log has no such option');
    checkWords(option, 1, Infinity, `${CLASSES.join('|')}…`);
    return option.args.map(
      (word) =>
        CLASSES.find((each) => each === word) ??
        fail(option, `${JSON.stringify(word)} is no class`),
    );
  });
  return classes.length === 0 ? ['all'] : [...new Set(classes)];
}

/** coredns plugin/bufsize: its default, and the range of RFC 6891 that it takes. */
const BUFSIZE = '1232';
const MIN_BUFSIZE = 512;
const MAX_BUFSIZE = 4_096;
/** coredns plugin/reload. */
const MIN_INTERVAL_MS = 2_000;
const MIN_JITTER_MS = 1_000;

function readLoop(each: Directive, draft: Draft<ServerBlock>): void {
  checkAlone(each);
  draft.detectsLoops = true;
}

/** `bufsize [BYTES]`. */
function readBufsize(each: Directive, draft: Draft<ServerBlock>): void {
  checkWords(each, 0, 1, '[BYTES]');
  checkNoBlock(each);
  draft.maxUdpBytes = wholeNumber(each, each.args[0] ?? BUFSIZE, MIN_BUFSIZE, MAX_BUFSIZE);
}

/** `loadbalance [round_robin]`. */
function readLoadbalance(each: Directive, draft: Draft<ServerBlock>): void {
  if (each.args.length > 0 && each.args.join(' ') !== 'round_robin') {
    fail(each, 'records are rotated, without weights: write loadbalance round_robin');
  }
  if ((each.block ?? []).length > 0) fail(each, 'no network is preferred: leave the braces out');
  draft.rotatesRecords = true;
}

/** `reload [INTERVAL] [JITTER]`: a new Corefile is always applied immediately. */
function checkReload(each: Directive): void {
  checkWords(each, 0, 2, '[INTERVAL] [JITTER]');
  checkNoBlock(each);
  const [interval, jitter] = each.args.map((word) => durationMs(each, word));
  if (interval !== undefined && interval < MIN_INTERVAL_MS) {
    fail(each, 'interval value must be greater or equal to 2s');
  }
  if (jitter !== undefined && jitter !== 0 && jitter < MIN_JITTER_MS) {
    fail(each, 'jitter value must be 0 or greater or equal to 1s');
  }
}

/** `metadata [ZONES…]`: nothing that is obeyed reads it. */
function checkMetadata(each: Directive): void {
  checkNoBlock(each);
  zones(each, each.args);
}
