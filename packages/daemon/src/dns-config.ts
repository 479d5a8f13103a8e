import { errorText, JsonShape, nearest, quote } from '@kube-dns/base';
import { ConfigError } from './errors.js';
import type { Log } from './log.js';
import { isDnsLabel, isDnsSubdomain, isIpAddress, parseNameServer } from './name-server.js';
import { type ConfiguredHosts, NO_HOSTS, readHosts } from './configured-hosts.js';
import { parseQueryLogRules, type QueryLogRules } from './query-log-rules.js';

/** The content of the kube-dns ConfigMap. Servers stay as they are written. */
export interface DnsConfig {
  /** Federation name → domain. */
  readonly federations: ReadonlyMap<string, string>;
  /** Domain (lower case, no final dot) → its servers: IPs with or without port, names, or encrypted ones. */
  readonly stubDomains: ReadonlyMap<string, readonly string[]>;
  /** IPs with or without port, or encrypted ones; empty: those of resolv.conf. */
  readonly upstreamNameservers: readonly string[];
  /** Undefined without the key: the flag counts. */
  readonly queryLog?: QueryLogRules | undefined;
  /** Names that kubedns answers beside the zone of the cluster. */
  readonly hosts: ConfiguredHosts;
}

/** The configuration of an empty ConfigMap. */
export const EMPTY_DNS_CONFIG: DnsConfig = {
  federations: new Map(),
  stubDomains: new Map(),
  upstreamNameservers: [],
  hosts: NO_HOSTS,
};

/** The keys of the ConfigMap `kube-dns`. */
export const CONFIG_KEYS: readonly string[] = [
  'stubDomains',
  'upstreamNameservers',
  'hosts',
  'queryLog',
  'federations',
];
/** The others are only counted. */
const MAX_UNKNOWN_KEYS = 20;

/** Keys of a configuration that have no meaning: the configuration is valid, but a misspelt key would have no effect. */
export interface UnknownKeys {
  readonly count: number;
  /** A sentence for each, 20 at most. */
  readonly warnings: readonly string[];
}

export const NO_UNKNOWN_KEYS: UnknownKeys = { count: 0, warnings: [] };

/** The unknown keys of the ConfigMap, each with the key that it is near to. */
export function unknownKeys(files: ReadonlyMap<string, string>): UnknownKeys {
  let count = 0;
  const warnings: string[] = [];
  for (const key of files.keys()) {
    if (CONFIG_KEYS.includes(key) || ++count > MAX_UNKNOWN_KEYS) continue;
    const near = nearest(key, CONFIG_KEYS);
    const meant = near === undefined ? '' : `; did you mean ${near}?`;
    warnings.push(`the key ${quote(key)} is not known and has no effect${meant}`);
  }
  return { count, warnings };
}

/** Logs a line per unknown key of a configuration that was applied; returns them. */
export function logUnknownKeys(log: Log, files: ReadonlyMap<string, string>): UnknownKeys {
  const unknown = unknownKeys(files);
  for (const warning of unknown.warnings) log.warn(`config: ${warning}`);
  const more = unknown.count - unknown.warnings.length;
  if (more > 0) log.warn(`config: ${more} more keys are not known`);
  return unknown;
}

/** kubernetes/dns pkg/dns/config/config.go, validateUpstreamNameserver: resolv.conf's own limit. */
const MAX_UPSTREAMS = 3;
/** As of a file of a directory; a ConfigMap that is read through the API may be larger. */
const MAX_KEY_CHARACTERS = 1024 * 1024;
/** Reading a configuration, and putting it in force, are one turn of the event loop each, which must not take more than 50 ms. */
const MAX_STUB_DOMAINS = 2_048;
/** Of all stub domains together, each time they are given. */
const MAX_STUB_SERVERS = 2_048;
/** Of the names of all stub domains together: each label takes time, and each character. */
const MAX_STUB_CHARACTERS = 49_152;
const MAX_FEDERATIONS = 2_048;

/** Collects a mistake, so that the log shows all of them together. */
type Note = (mistake: string) => void;

/**
 * Reads the ConfigMap's keys, given as file name → content; unknown keys are ignored: see `unknownKeys`.
 * Throws a ConfigError with one message per mistake: a configuration with mistakes is refused whole.
 */
export function parseDnsConfig(files: ReadonlyMap<string, string>): DnsConfig {
  const mistakes: string[] = [];
  const note: Note = (mistake) => void mistakes.push(mistake);
  const config: DnsConfig = {
    federations: readFederations(files.get('federations') ?? '', note),
    stubDomains: readStubDomains(files, note),
    upstreamNameservers: readUpstreams(files, note),
    queryLog: readQueryLog(files.get('queryLog'), note),
    hosts: readHosts(files.get('hosts') ?? '', (mistake) => note(`hosts: ${mistake}`)),
  };
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return config;
}

/** Reads `name=domain,…`, the value of the flag and of the key `federations`; throws a ConfigError. */
export function parseFederations(text: string): ReadonlyMap<string, string> {
  return collecting((note) => readFederations(text, note));
}

/** Reads `ip[:port],…` or encrypted servers, the value of the flag `nameservers`; throws a ConfigError. */
export function parseNameservers(text: string): readonly string[] {
  return collecting((note) => {
    const servers = text
      .split(',')
      .map((server) => server.trim())
      .filter((server) => server !== '');
    for (const server of servers) checkUpstream('nameservers', server, note);
    return servers;
  });
}

function collecting<T>(read: (note: Note) => T): T {
  const mistakes: string[] = [];
  const value = read((mistake) => void mistakes.push(mistake));
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return value;
}

/** Longer texts are no slip of the pen, and what a text means is not searched for long. */
const MAX_SLIP_CHARACTERS = 300;
const PAIR = /^["']?([^\s"'=:]+)["']?\s*[=:]\s*(\S.*)$/;

/** How the value of a key is written, with the servers of the wrong one where those are plain. */
function rightForm(key: JsonKey, text: string): string {
  const slip = text.length > MAX_SLIP_CHARACTERS ? '' : text.trim();
  if (key === 'upstreamNameservers') {
    return `write it as ${listText(plainServers(slip) ?? ['10.1.2.3'])}`;
  }
  const [, domain = '', rest = ''] = PAIR.exec(slip) ?? [];
  const servers = isDnsSubdomain(domain) ? plainServers(rest) : undefined;
  const [name, list] = servers === undefined ? ['acme.example', ['10.1.2.3']] : [domain, servers];
  return `write it as {${JSON.stringify(name)}: ${listText(list)}}`;
}

/** The addresses of a text that has nothing else: `1.2.3.4, 1.2.3.5`; undefined for any other. */
function plainServers(text: string): readonly string[] | undefined {
  const words = text.split(/[\s,;[\]"']+/).filter((word) => word !== '' && word !== '-');
  return words.length > 0 && words.every(isServerAddress) ? words : undefined;
}

function isServerAddress(text: string): boolean {
  try {
    return isIpAddress(parseNameServer(text).host);
  } catch {
    return false; // it is another mistake than that of the form
  }
}

function listText(servers: readonly string[]): string {
  return `[${servers.map((server) => JSON.stringify(server)).join(', ')}]`;
}

type JsonKey = 'stubDomains' | 'upstreamNameservers';

function readJson(files: ReadonlyMap<string, string>, key: JsonKey, note: Note): unknown {
  const text = files.get(key);
  if (text === undefined) return null;
  const problem = sizeProblem(text) ?? new JsonShape().add(Buffer.from(text));
  if (problem !== undefined) {
    note(`${key}: ${problem}`);
    return null;
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    // Where there is no bracket, the place where JSON would begin says nothing.
    const detail = /^\s*[[{]/.test(text) ? ` (${errorText(error)})` : '';
    note(`${key}: not JSON: ${rightForm(key, text)}${detail}`);
    return null;
  }
}

/** Why a text is not read; undefined when it is. */
function sizeProblem(text: string): string | undefined {
  return text.length > MAX_KEY_CHARACTERS
    ? `it has more than ${MAX_KEY_CHARACTERS} characters`
    : undefined;
}

function readFederations(text: string, note: Note): ReadonlyMap<string, string> {
  const federations = new Map<string, string>();
  const problem = sizeProblem(text);
  const pairs = problem === undefined ? text.split(',', MAX_FEDERATIONS + 1) : [];
  if (problem !== undefined) note(`federations: ${problem}`);
  else if (pairs.length > MAX_FEDERATIONS) note(`federations: more than ${MAX_FEDERATIONS}`);
  if (pairs.length > MAX_FEDERATIONS || text.trim() === '') return federations;
  for (const pair of pairs) {
    const equals = pair.indexOf('=');
    const name = pair.slice(0, Math.max(equals, 0)).trim();
    const domain = pair.slice(equals + 1).trim();
    if (equals < 0) {
      note(`federations: ${quote(pair)} is not name=domain`);
    } else if (!isDnsLabel(name)) {
      note(`federations: ${quote(name)} is not a DNS label`);
    } else if (!isDnsSubdomain(domain)) {
      note(`federations: ${name}: ${quote(domain)} is not a domain`);
    } else {
      federations.set(name, domain);
    }
  }
  return federations;
}

function readStubDomains(
  files: ReadonlyMap<string, string>,
  note: Note,
): ReadonlyMap<string, readonly string[]> {
  const value = readJson(files, 'stubDomains', note);
  const domains = new Map<string, readonly string[]>();
  if (value === null) return domains;
  if (typeof value !== 'object' || Array.isArray(value)) {
    const form = rightForm('stubDomains', typeof value === 'string' ? value : '');
    note(`stubDomains: not an object of domains: ${form}`);
    return domains;
  }
  const entries = Object.entries(value) as [string, unknown][];
  const problem = countProblem(entries);
  if (problem !== undefined) {
    note(`stubDomains: ${problem}`);
    return domains;
  }
  for (const [domain, servers] of entries) {
    if (!isDnsSubdomain(domain)) note(`stubDomains: ${quote(domain)} is not a domain`);
    else if (servers === null) domains.set(domain, []);
    else if (!isStringArray(servers)) {
      const list = listText(
        plainServers(typeof servers === 'string' ? servers : '') ?? ['10.1.2.3'],
      );
      note(`stubDomains: ${domain}: not an array of strings: write it as ${list}`);
    } else {
      for (const server of servers) checkStubServer(domain, server, note);
      domains.set(domain, servers);
    }
  }
  return domains;
}

function countProblem(entries: readonly (readonly [string, unknown])[]): string | undefined {
  if (entries.length > MAX_STUB_DOMAINS) {
    return `${entries.length} domains, at most ${MAX_STUB_DOMAINS} are possible`;
  }
  let servers = 0;
  let characters = 0;
  for (const [domain, list] of entries) {
    characters += domain.length;
    if (Array.isArray(list)) servers += list.length;
  }
  if (characters > MAX_STUB_CHARACTERS) {
    return `domains of ${characters} characters, at most ${MAX_STUB_CHARACTERS} are possible`;
  }
  if (servers <= MAX_STUB_SERVERS) return undefined;
  return `${servers} servers, at most ${MAX_STUB_SERVERS} are possible`;
}

function checkStubServer(domain: string, server: string, note: Note): void {
  try {
    // Port 0 is accepted although no server answers there: the original accepts it, and refusing it
    // would refuse a whole ConfigMap that works with the original.
    parseNameServer(server);
  } catch (error) {
    note(`stubDomains: ${domain}: ${quote(server)}: ${errorText(error)}`);
  }
}

function readUpstreams(files: ReadonlyMap<string, string>, note: Note): readonly string[] {
  const value = readJson(files, 'upstreamNameservers', note);
  if (value === null) return [];
  if (!isStringArray(value)) {
    const form = rightForm('upstreamNameservers', typeof value === 'string' ? value : '');
    note(`upstreamNameservers: not an array of strings: ${form}`);
    return [];
  }
  if (value.length > MAX_UPSTREAMS) {
    note(`upstreamNameservers: ${value.length} servers, at most ${MAX_UPSTREAMS} are possible`);
    return [];
  }
  for (const server of value) checkUpstream('upstreamNameservers', server, note);
  return value;
}

function checkUpstream(key: string, server: string, note: Note): void {
  const refuse = (reason: string) => note(`${key}: ${quote(server)}: ${reason}`);
  try {
    const { host, port, encryption } = parseNameServer(server);
    if (encryption !== undefined) return;
    if (!isIpAddress(host)) refuse('not an IP address');
    else if (port === 0) refuse('port 0 is not possible');
    else if (server.endsWith(':') && !isIpAddress(server)) refuse('the port is missing');
  } catch (error) {
    refuse(errorText(error));
  }
}

function readQueryLog(text: string | undefined, note: Note): QueryLogRules | undefined {
  if (text === undefined) return undefined;
  try {
    return parseQueryLogRules(text);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const mistake of error.mistakes) note(`queryLog: ${mistake}`);
    return undefined;
  }
}

function isStringArray(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
