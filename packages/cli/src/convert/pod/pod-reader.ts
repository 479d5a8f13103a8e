import { isIP } from 'node:net';
import { ClientNetworks, isWithin } from '@kube-dns/base';
import { ConfigError, parseDnsConfig, parseFederations, parseNameservers } from '@kube-dns/daemon';
import { WELL_KNOWN_PREFIX } from '@kube-dns/node-cache/corefile';
import { OPTION_SPELLINGS, type OptionSpelling } from '@kube-dns/dnsmasq/options';
import {
  MIN_PERCENT,
  NO_STALE,
  plainDomain,
  plainServer,
  readPrefetch,
  readStale,
  RESOLV_CONF,
  REVERSE_ZONES,
  STOCK_SETUP,
  type DnsSetup,
  type SetupDraft,
  type Notes,
} from '../dns-setup.js';
import { InputError } from '../../manifests/objects.js';
import { reasonOf } from '../../errors.js';

/** The command lines of a kube-dns pod, without the programs' names. */
export interface PodWords {
  /** Undefined when unknown. */
  readonly kubedns: readonly string[] | undefined;
  /** Both halves, the nanny's and dnsmasq's. */
  readonly dnsmasq: readonly string[] | undefined;
}

/** The input about a kube-dns pod. */
interface PodSource {
  readonly words: PodWords;
  readonly configMap: ReadonlyMap<string, string>;
  /** The name of the ConfigMap in messages. */
  readonly where: string;
}

const KUBEDNS_PORT = 10053;

/** The arguments of dnsmasq: those after `--`, or all where the command is dnsmasq itself. */
export function dnsmasqHalf(words: readonly string[]): readonly string[] {
  const separator = words.indexOf('--');
  return separator < 0 ? words : words.slice(separator + 1);
}

/** Reads a pod and its ConfigMap; what is unknown is as in manifests/kube-dns. */
export function readPodSource(source: PodSource, notes: Notes): DnsSetup {
  const draft: SetupDraft = { ...STOCK_SETUP };
  const { kubedns, dnsmasq } = source.words;
  const half = dnsmasq === undefined ? undefined : dnsmasqHalf(dnsmasq);
  let port = KUBEDNS_PORT;
  if (kubedns !== undefined) port = readKubednsFlags(kubedns, draft, notes);
  else draft.domain = domainOf(half ?? []) ?? draft.domain;
  if (half !== undefined) {
    const { upstreams, resolvFile } = draft;
    Object.assign(draft, DNSMASQ_DEFAULTS);
    readDnsmasqArguments(half, port, draft, notes);
    // Servers that only kubedns has get only the queries that kubedns gets.
    if (upstreams.length > 0) draft.resolvFile = resolvFile;
  }
  readConfigMap(source.configMap, source.where, draft, notes);
  return draft;
}

/** The domain that is sent to kubedns; undefined without such an argument. */
function domainOf(words: readonly string[]): string | undefined {
  for (const { name, value } of readDnsmasqLine(words)) {
    const [, domain] =
      /^\/(?!in-addr|ip6?n?6?\.arpa)([^/]+?)\.?\/127\.0\.0\.1#10053$/.exec(value) ?? [];
    if (name === 'server' && domain !== undefined) return domain;
  }
  return undefined;
}

/** Flags of configuration, log and probes, which each side has in its own form. */
const OF_THE_CONTAINER =
  /^(?:v|vmodule|log.*|alsologtostderr|stderrthreshold|config-.*|healthz-port|dns-bind-address|dns-port|udp-engine|version)$/;
const SECONDS = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/;

/**
 * Reads the flags of kubedns (or of kube2sky and skydns before it) into a draft; flags without a counterpart
 * are named in the notes. Returns its DNS port.
 */
function readKubednsFlags(words: readonly string[], draft: SetupDraft, notes: Notes): number {
  const flags = readGoFlags(words);
  for (const flag of flags) readFlag(flag, draft, notes);
  return Number(flags.findLast(({ name }) => name === 'dns-port')?.value ?? 53);
}

function readFlag(flag: GoFlag, draft: SetupDraft, notes: Notes): void {
  const { name, value, text } = flag;
  switch (name) {
    case 'domain':
      draft.domain = plainDomain(value);
      return;
    case 'clusterset-domain':
      draft.clustersetDomain = plainDomain(value);
      return;
    case 'external-domain':
      draft.externalDomain = plainDomain(value);
      return;
    case 'transfer-to':
      draft.transferTo = orLose(flag, notes, () => networksOf(value), draft.transferTo);
      return;
    case 'transfer-key':
      notes.lose(text, 'requests for a transfer are not signed without the plugin tsig');
      return;
    case 'federations':
      draft.federations = orLose(flag, notes, () => parseFederations(value), draft.federations);
      return;
    case 'nameservers': {
      const servers = orLose(flag, notes, () => parseNameservers(value), []);
      draft.upstreams = servers.flatMap((server) => plainServer(server) ?? []);
      if (draft.upstreams.length > 0) draft.resolvFile = '';
      return;
    }
    case 'tls-ca':
      draft.tlsCa = value;
      return;
    case 'pods':
      if (value === 'insecure' || value === 'disabled') draft.pods = value;
      else notes.lose(text, 'no such mode');
      return;
    case 'endpoint-names':
      draft.namesEndpointsByPod = value === 'pod';
      if (value === 'hash') notes.change(text, 'CoreDNS names them by their address');
      return;
    case 'record-ttl':
      if (/^\d{1,9}$/.test(value)) draft.recordTtl = Number(value);
      else notes.lose(text, 'not a number');
      return;
    case 'drain-time': {
      const [, hours = 0, minutes = 0, seconds = 0] = SECONDS.exec(value) ?? [];
      if (!SECONDS.test(value) || value === '') notes.lose(text, 'not whole seconds');
      else draft.drainSeconds = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
      return;
    }
    case 'kube-master-url':
      draft.masterUrl = value;
      return;
    case 'kubecfg-file':
      draft.kubeconfig = value;
      return;
    case 'zonal':
      draft.isZonal = value !== 'false';
      return;
    case 'profiling':
      draft.isProfiled = value !== 'false';
      return;
    case 'query-log':
      readQueryLog(text, value, draft, notes);
      return;
    default:
      // CoreDNS answers nothing before it has listed everything, and has no snapshot.
      if (name.startsWith('snapshot-'))
        notes.change(text, 'CoreDNS starts with the API server alone');
      else if (!OF_THE_CONTAINER.test(name)) {
        notes.lose(text, 'the standard plugins of CoreDNS have no counterpart');
      }
  }
}

/** The query log, from a flag or the key of the ConfigMap: CoreDNS has one, of all answers, in a form of its own. */
function readQueryLog(what: string, value: string, draft: SetupDraft, notes: Notes): void {
  const [format = '', ...rules] = value.trim().split(',');
  if (format === 'off' || format === '') return;
  draft.logsQueries = true;
  const form = format === 'text' ? '' : `, not as ${format}`;
  const all = rules.length === 0 ? '' : `, without ${rules.join(',')}`;
  notes.change(what, `the plugin log writes a line for each answer in its own form${form}${all}`);
}

/** The parts of `IP[/bits],…`. */
function networksOf(value: string): readonly string[] {
  new ClientNetworks(value);
  return value.split(',').map((part) => part.trim());
}

function orLose<T>(flag: GoFlag, notes: Notes, parse: () => T, fallback: T): T {
  try {
    return parse();
  } catch (error) {
    notes.lose(flag.text, reasonOf(error));
    return fallback;
  }
}

/** The state of reading dnsmasq's half of the command line. */
interface Reading {
  readonly draft: SetupDraft;
  readonly notes: Notes;
  /** The address of kubedns, in the form of DnsSetup. */
  readonly kubedns: string;
  asksKubednsFirst: boolean;
  readsResolvFile: boolean;
}

/** Options of the process, which are not part of a setup; in the pod the log is on stderr in any case. */
const OF_THE_PROCESS = new Set(
  'keep-in-foreground log-facility log-async no-daemon pid-file user group no-hosts no-poll'.split(
    ' ',
  ),
);
/** About a server that announces what changes: CoreDNS has the cluster's names in its own memory. */
const OF_SUBSCRIPTIONS = new Set(['negcache', 'no-subscribe']);
const NO_COUNTERPART = 'the standard plugins of CoreDNS have no counterpart';
const NUMBER = /^\d{1,9}$/;

/**
 * Reads dnsmasq's half of the command line into a draft that has the defaults of dnsmasq. Options without a
 * counterpart are named in the notes. `kubednsPort` is the port of kubedns on loopback.
 */
function readDnsmasqArguments(
  words: readonly string[],
  kubednsPort: number,
  draft: SetupDraft,
  notes: Notes,
): void {
  const kubedns = plainServer(`127.0.0.1#${kubednsPort}`) ?? '';
  const reading: Reading = {
    draft,
    notes,
    kubedns,
    asksKubednsFirst: false,
    readsResolvFile: true,
  };
  const ceilings = new Map<string, number>();
  for (const option of readDnsmasqLine(words)) {
    if (option.name === 'max-ttl' || option.name === 'max-cache-ttl') {
      readNumber(option, reading, (value) => void ceilings.set(option.name, value));
    } else readOption(option, reading);
  }
  // kubedns forwards names outside the cluster to the servers of the pod's resolv.conf.
  if (!reading.readsResolvFile && !reading.asksKubednsFirst) draft.resolvFile = '';
  readCeilings(ceilings, reading);
}

function readOption(option: DnsmasqOption, reading: Reading): void {
  const { draft, notes } = reading;
  const { name, value, text } = option;
  switch (name) {
    case 'server':
    case 'local':
      readServer(option, reading);
      return;
    case 'address':
      readAddress(option, reading);
      return;
    case 'host-record':
      readHostRecord(option, reading);
      return;
    case 'addn-hosts':
      if (draft.hostsFile === '') draft.hostsFile = value;
      else notes.lose(text, 'a Corefile has one hosts file for each zone');
      return;
    case 'resolv-file':
      draft.resolvFile = value;
      return;
    case 'no-resolv':
      reading.readsResolvFile = false;
      return;
    case 'tls-ca':
      draft.tlsCa = value;
      return;
    case 'cache-size':
      readNumber(option, reading, (number) => (draft.cacheSize = number));
      return;
    case 'no-negcache':
      draft.cachesNegativeAnswers = false;
      return;
    case 'min-cache-ttl':
      readNumber(option, reading, (number) => (draft.minTtl = number));
      return;
    case 'local-ttl':
      readNumber(option, reading, (number) => (draft.localTtl = number));
      return;
    case 'use-stale-cache':
      readNumber({ ...option, value: value || '86400' }, reading, (number) => {
        draft.stale = { ...NO_STALE, seconds: number };
        if (number === 0) notes.lose(text, 'serve_stale has an end');
      });
      return;
    case 'stale': {
      const stale = readStale(value);
      if (stale === undefined) notes.lose(text, 'not TIMEOUT[,MAXAGE[,TTL]]');
      else draft.stale = stale;
      return;
    }
    case 'prefetch': {
      const prefetch = readPrefetch(value);
      if (prefetch === undefined) notes.lose(text, 'not HITS[,PERCENT]');
      else if (prefetch.percent >= MIN_PERCENT) draft.prefetch = prefetch;
      else {
        draft.prefetch = { ...prefetch, percent: MIN_PERCENT };
        notes.lose(text, `prefetch has ${MIN_PERCENT}% at least`);
      }
      return;
    }
    case 'dns-forward-max':
      readNumber(option, reading, (number) => (draft.forwardMax = number));
      return;
    case 'edns-packet-max':
      readNumber(option, reading, (number) => (draft.maxUdpBytes = number));
      return;
    case 'port':
      readNumber(option, reading, (number) => (draft.port = number));
      return;
    case 'dns-loop-detect':
      draft.detectsLoops = true;
      return;
    case 'no-round-robin':
      draft.turnsRecords = false;
      return;
    case 'strict-order':
      draft.asksInOrder = true;
      return;
    case 'log-queries':
      draft.logsQueries = true;
      return;
    case 'dns64':
      draft.dns64 = value === '' ? WELL_KNOWN_PREFIX : value;
      return;
    case 'filter-A':
    case 'filter-AAAA':
      draft.filteredTypes = [...draft.filteredTypes, name === 'filter-A' ? 'A' : 'AAAA'];
      return;
    default:
      if (!OF_THE_PROCESS.has(name) && !OF_SUBSCRIPTIONS.has(name))
        notes.lose(text, NO_COUNTERPART);
  }
}

function readNumber(option: DnsmasqOption, { notes }: Reading, take: (n: number) => void): void {
  if (NUMBER.test(option.value)) take(Number(option.value));
  else notes.lose(option.text, 'not a number');
}

function readCeilings(ceilings: ReadonlyMap<string, number>, { draft, notes }: Reading): void {
  const given = [...ceilings.values()].filter((seconds) => seconds > 0);
  if (given.length === 0) return;
  draft.maxTtl = Math.min(...given);
  if (given.length < 2 || given[0] !== given[1]) {
    const text = [...ceilings].map(([name, seconds]) => `--${name}=${seconds}`).join(' ');
    notes.change(text, 'one ceiling holds for the cache and for what clients see');
  }
}

/** The domains of `/a/b/rest`, and the rest; no domains for a value without slashes. */
function splitDomains(value: string): { domains: string[]; rest: string } {
  const scheme = value.search(/\/[a-z][a-z0-9+.-]*:\/\//i);
  const end = scheme < 0 ? value.lastIndexOf('/') : scheme;
  if (!value.startsWith('/') || end < 1) return { domains: [], rest: value };
  return { domains: value.slice(1, end).split('/'), rest: value.slice(end + 1) };
}

/** The domains that can be zones of a Corefile; the others are noted. */
function usableDomains(domains: readonly string[], text: string, notes: Notes): string[] {
  return domains
    .filter((domain) => {
      if (domain !== '' && !domain.startsWith('*')) return true;
      const kind = domain === '' ? 'names without a dot are' : `${domain} is`;
      notes.lose(text, `${kind} no zone of a Corefile`);
      return false;
    })
    .map(plainDomain);
}

function readServer({ value, text }: DnsmasqOption, reading: Reading): void {
  const { draft, notes, kubedns } = reading;
  const split = splitDomains(value);
  const isForAll = split.domains.length === 0;
  const domains = isForAll ? ['.'] : usableDomains(split.domains, text, notes);
  if (domains.length === 0) return;
  const [target = '', source] = split.rest.split('@', 2);
  if (source !== undefined) notes.lose(text, `queries cannot leave from ${source}`);
  if (target === '') draft.emptyDomains = [...draft.emptyDomains, ...domains];
  else if (target === '#') draft.upstreamDomains = [...draft.upstreamDomains, ...domains];
  else {
    const server = plainServer(target);
    if (server === undefined) notes.lose(text, `${target} is no server that both sides know`);
    else if (server === kubedns) domains.forEach((each) => askKubedns(each, text, reading));
    else domains.forEach((each) => askServer(each, server, reading));
  }
}

function askServer(domain: string, server: string, { draft }: Reading): void {
  if (domain === '.') draft.upstreams = [...draft.upstreams, server];
  else {
    const servers = [...(draft.stubDomains.get(domain) ?? []), server];
    draft.stubDomains = new Map([...draft.stubDomains, [domain, servers]]);
  }
}

function askKubedns(domain: string, text: string, reading: Reading): void {
  const { draft, notes } = reading;
  if (domain === '.') {
    reading.asksKubednsFirst = true;
    draft.reverseZones = REVERSE_ZONES;
  } else if (REVERSE_ZONES.includes(domain)) {
    draft.reverseZones = REVERSE_ZONES.filter(
      (zone) => zone === domain || draft.reverseZones.includes(zone),
    );
  } else if (
    ![draft.clustersetDomain, draft.externalDomain].includes(domain) &&
    !isWithin(domain, draft.domain)
  ) {
    notes.change(text, `kubedns forwards ${domain} to its servers, as CoreDNS does by itself`);
  }
}

function readAddress({ value, text }: DnsmasqOption, { draft, notes }: Reading): void {
  const split = splitDomains(value);
  const domains = usableDomains(split.domains, text, notes);
  if (split.rest === '') {
    draft.emptyDomains = [...draft.emptyDomains, ...domains];
    return;
  }
  const addresses = split.rest === '#' ? ['0.0.0.0', '::'] : [split.rest];
  if (split.domains.length === 0 || addresses.some((address) => isIP(address) === 0)) {
    notes.lose(text, 'not a domain with an address');
    return;
  }
  for (const domain of domains) {
    const all = [...(draft.addresses.get(domain) ?? []), ...addresses];
    draft.addresses = new Map([...draft.addresses, [domain, all]]);
  }
}

function readHostRecord({ value, text }: DnsmasqOption, { draft, notes }: Reading): void {
  const fields = value.split(',').map((field) => field.trim());
  const addresses = fields.filter((field) => isIP(field) !== 0);
  const names = fields.filter((field) => isIP(field) === 0 && !NUMBER.test(field)).map(plainDomain);
  if (addresses.length === 0 || names.length === 0) {
    notes.lose(text, 'not a name with an address');
    return;
  }
  const ttl = fields.find((field) => NUMBER.test(field));
  if (ttl !== undefined && Number(ttl) !== draft.localTtl) {
    notes.change(text, `its TTL is that of all hosts, not ${ttl}`);
  }
  draft.hosts = [...draft.hosts, ...addresses.map((address) => ({ address, names }))];
}

/** The values of the draft before any argument of dnsmasq is read: dnsmasq's defaults. */
const DNSMASQ_DEFAULTS: Partial<SetupDraft> = {
  cacheSize: 150,
  cachesNegativeAnswers: true,
  reverseZones: [],
  detectsLoops: false,
  resolvFile: RESOLV_CONF,
};

/** The keys of the ConfigMap `kube-dns`. */
export const CONFIG_MAP_KEYS: readonly string[] = [
  'stubDomains',
  'upstreamNameservers',
  'federations',
  'queryLog',
  'hosts',
];

/**
 * Adds the keys of the ConfigMap `kube-dns` to the arguments, as the nanny appends arguments for them
 * (kubernetes/dns pkg/dnsmasq/nanny.go). Throws an InputError that names every mistake: a pod ignores such
 * a ConfigMap.
 */
function readConfigMap(
  data: ReadonlyMap<string, string>,
  where: string,
  draft: SetupDraft,
  notes: Notes,
): void {
  const config = parsed(data, where);
  const stubDomains = new Map(draft.stubDomains);
  for (const [domain, servers] of config.stubDomains) {
    const usable = servers.flatMap((server) => {
      const plain = plainServer(server);
      if (plain === undefined) notes.lose(`stubDomains: ${domain}: ${server}`, 'cannot be asked');
      return plain ?? [];
    });
    if (servers.length === 0) notes.change(`stubDomains: ${domain}`, 'without servers it is void');
    if (usable.length === 0) continue;
    stubDomains.set(domain, [...(stubDomains.get(domain) ?? []), ...usable]);
  }
  draft.stubDomains = stubDomains;
  const upstreams = config.upstreamNameservers.flatMap((server) => plainServer(server) ?? []);
  if (upstreams.length > 0) {
    draft.upstreams = [...draft.upstreams, ...upstreams];
    draft.resolvFile = '';
  }
  draft.federations = new Map([...draft.federations, ...config.federations]);
  const configured = Array.from(config.hosts.addresses, ([name, addresses]) =>
    addresses.map((address) => ({ address, names: [name] })),
  );
  draft.hosts = [...draft.hosts, ...configured.flat()];
  // kubedns gives them the TTL of its records.
  if (configured.length > 0 && draft.localTtl === 0) draft.localTtl = draft.recordTtl;
  const log = data.get('queryLog');
  if (log !== undefined) readQueryLog('queryLog', log, draft, notes);
  for (const key of data.keys()) {
    if (!CONFIG_MAP_KEYS.includes(key)) notes.lose(key, 'kube-dns has no such key');
  }
}

function parsed(data: ReadonlyMap<string, string>, where: string) {
  try {
    return parseDnsConfig(data);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new InputError(`${where}: ${error.mistakes.join('; ')}`, { cause: error });
  }
}

/** One option of dnsmasq's command line by its long name, as it was written. */
interface DnsmasqOption {
  /** Empty for a word that is not an option. */
  readonly name: string;
  /** Empty without one. */
  readonly value: string;
  /** As on the command line: `--cache-size=1000`, or `-c` and `1000`. */
  readonly words: readonly string[];
  /** The words with blanks between them, for messages. */
  readonly text: string;
}

const LONG_NAMES = new Map(OPTION_SPELLINGS.map(({ short, name }) => [short, name]));
const VALUES = new Map(OPTION_SPELLINGS.map(({ name, value }) => [name, value]));

/** Whether an option takes a value; one that is not known needs one. */
function valueOf(name: string): OptionSpelling['value'] {
  return VALUES.get(name) ?? 'required';
}

/** Of the letters with a long name, `-q` is the one whose value can be given to the long name only. */
function letterTakesValue(name: string): boolean {
  return valueOf(name) !== 'none' && name !== 'log-queries';
}

/** Parses dnsmasq's half of a command line; abbreviated names are unchanged. Never throws. */
export function readDnsmasqLine(words: readonly string[]): DnsmasqOption[] {
  const options: DnsmasqOption[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    const hasNext = at + 1 < words.length;
    const long = /^--([^=]+)(?:=(.*))?$/s.exec(word);
    if (long !== null) {
      const name = long[1]!;
      if (long[2] !== undefined || valueOf(name) !== 'required' || !hasNext) {
        options.push(option(name, long[2] ?? '', word));
      } else {
        const value = words[++at]!;
        options.push(option(name, value, word, value));
      }
    } else if (/^-[^-]/.test(word)) {
      const { flags, last, value } = readShortOptions(word.slice(1));
      options.push(...flags.map((name) => option(name, '', `--${name}`)));
      const takesNext = value === '' && letterTakesValue(last) && hasNext;
      const next = takesNext ? words[++at]! : value;
      options.push(
        option(last, next, ...lastWords(word, flags.length), ...(takesNext ? [next] : [])),
      );
    } else options.push(option('', '', word));
  }
  return options;
}

function option(name: string, value: string, ...words: readonly string[]): DnsmasqOption {
  return { name, value, words, text: words.join(' ') };
}

/** Without the short options. */
function lastWords(word: string, optionCount: number): string[] {
  return [`-${word.slice(1 + optionCount)}`];
}

/** Joined short options: those without a value, then one with the rest as its value. */
function readShortOptions(characters: string): { flags: string[]; last: string; value: string } {
  const names: string[] = [];
  for (let at = 0; at < characters.length; at++) {
    const name = LONG_NAMES.get(characters[at]!) ?? characters[at]!;
    const isLast = at + 1 === characters.length;
    if (isLast || letterTakesValue(name)) {
      return { flags: names, last: name, value: characters.slice(at + 1).replace(/^=/, '') };
    }
    names.push(name);
  }
  return { flags: names, last: '', value: '' };
}

/** A flag of one of the Go programs. */
export interface GoFlag {
  /** With dashes for underscores; empty for a word that is not a flag. */
  readonly name: string;
  readonly value: string;
  /** The words of the command line. */
  readonly text: string;
}

/** Flags that need no value; `--v 2` has one. */
const GO_SWITCHES =
  /^(?:logtostderr|alsologtostderr|profiling|version|help|h|one-output|skip-headers|skip-log-headers|add-dir-header|restartDnsmasq|verbose|verify-only|quiet|zonal)$/;

/** Parses `--flag=value`, `-flag value` and switches, as Go's flag packages do. Never throws. */
export function readGoFlags(words: readonly string[]): GoFlag[] {
  const flags: GoFlag[] = [];
  for (let at = 0; at < words.length; at++) {
    const text = words[at]!;
    const [, written, given] = /^--?([^-=][^=]*)(?:=(.*))?$/s.exec(text) ?? [];
    if (written === undefined) {
      flags.push({ name: '', value: '', text });
      continue;
    }
    const name = written.replaceAll('_', '-');
    const next = words[at + 1];
    if (given !== undefined || GO_SWITCHES.test(name) || next === undefined) {
      flags.push({ name, value: given ?? '', text });
    } else {
      flags.push({ name, value: next, text: `${text} ${next}` });
      at++;
    }
  }
  return flags;
}
