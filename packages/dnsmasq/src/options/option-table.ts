import { isIP } from 'node:net';
import { type ClientNetworks, nearest } from '@kube-dns/base';
import { type Nat64Prefix, type PrefetchOptions, WELL_KNOWN_PREFIX } from '@kube-dns/resolver';
import {
  COOKIELESS_PER_SECOND,
  DEFAULT_TCP_AGE_MS,
  type FastRetry,
  UDP_ENGINES,
  type UdpEngineChoice,
} from '@kube-dns/transport';
import { TYPE } from '@kube-dns/wire';
import { OptionError } from '../errors.js';
import { type GivenOption, GivenOptions } from './given-options.js';
import {
  adds,
  addsFields,
  effect,
  type Field,
  field,
  type FieldOption,
  fields,
  flag,
  listField,
  type OptionSpelling,
  repeated,
  setting,
} from './option-kinds.js';
import {
  anyRecord,
  caaRecord,
  cnameRecords,
  hostRecords,
  type InterfaceName,
  type LocalRecord,
  mxRecord,
  nameOf,
  naptrRecord,
  parseDynamicHost,
  parseInterfaceName,
  parseSynthDomain,
  ptrRecord,
  srvRecord,
  type SynthDomain,
  txtRecord,
} from './record-values.js';
import {
  type AddressRule,
  parseAddressRule,
  parsePlainDomains,
  parseReverseServer,
  parseServerRule,
  type PlainDomains,
  type ServerRule,
} from './server-value.js';
import { UNSUPPORTED_OPTIONS } from './unsupported-options.js';
import {
  type AddressAlias,
  type AddressRange,
  type EdnsChanges,
  NO_EDNS_CHANGES,
  type NotifyRule,
  parseAddressRange,
  parseDns64Prefix,
  parseAlias,
  parseNotifyRule,
  parsePrefetch,
  durationMs,
  parseStale,
  parseSubnets,
  parseClientNetworks,
  parseType,
  parseUmbrella,
  shortNumber,
  type StaleOptions,
  wholeNumber,
} from './values.js';

/** dnsmasq's own limits and defaults (src/config.h, src/option.c). */
const MIN_UDP_BYTES = 512;
const MAX_UDP_BYTES = 65_535;
const MAX_CACHE_SIZE = 5_000_000;
const MAX_MIN_CACHE_TTL_SECONDS = 3_600;
const STALE_SECONDS = 86_400;
const MIN_FAST_RETRY_MS = 50;
const FAST_RETRY_MS = 1_000;
const FAST_RETRY_LIMIT_MS = 10_000;
/** Facilities of syslog(3); there is no syslog in a container, so all of them mean stderr. */
const FACILITIES =
  /^(?:-|kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local[0-7])$/i;

const number = (text: string) => wholeNumber(text);
const port = (text: string) => shortNumber(text);
const text = (value: string) => value;
const types = (values: readonly string[]) => values.map((each) => parseType(each, 'bad RR type'));
const interfaces = (values: readonly string[]) => values.filter(Boolean);

function positive(value: string): number {
  const wanted = wholeNumber(value);
  if (wanted === 0) throw new OptionError('it cannot be 0');
  return wanted;
}

/** An option whose fields are one static record. */
function record(
  spelling: string,
  help: string,
  parse: (values: readonly string[]) => LocalRecord,
): FieldOption<LocalRecord[]> {
  return addsFields(spelling, help, (values) => [parse(values)]);
}

/**
 * Every field of the options with its default and the options that set it: the types, the defaults, `--help` and the
 * table of the README follow from here. The defaults are dnsmasq's unless a comment says otherwise. Options of
 * several fields, and of none, stand below.
 */
const FIELDS = {
  /** What to do: serve, check the options, or print a text. */
  request: field<'serve' | 'test' | 'help' | 'version'>(
    'serve',
    flag('--test', 'check the options and the files of keys and certificates, and exit', 'test'),
  ),

  // Where queries are received, and how the log is written.

  /** 0 takes a free port; dnsmasq itself would serve no DNS then. */
  port: field(
    53,
    setting('-p, --port=', 'port to serve on, UDP and TCP; 0 takes a free one (default 53)', port),
  ),
  /** Other processes with this option may serve the same port. */
  reusesPort: field(
    false,
    flag('--reuse-port', 'extension: let several processes with this option serve one port', true),
  ),
  /** None means every address, unless there are interfaces. */
  listenAddresses: listField(
    addsFields(
      '-a, --listen-address=',
      'address to serve on (default all, IPv4 and IPv6)',
      (values) => {
        const bad = values.find((address) => isIP(address) === 0);
        if (bad !== undefined) throw new OptionError(`bad address ${JSON.stringify(bad)}`);
        return values;
      },
    ),
  ),
  /** Names of interfaces; a `*` at the end matches every name with this prefix. */
  interfaces: listField(
    addsFields('-i, --interface=', 'interface to serve on, in addition to loopback', interfaces),
  ),
  exceptInterfaces: listField(
    addsFields('-I, --except-interface=', 'interface that is not served', interfaces),
  ),
  /** One socket per address; `dynamic` also for addresses that are added later. */
  binding: field<'wildcard' | 'interfaces' | 'dynamic'>(
    'wildcard',
    flag(
      '--bind-dynamic',
      'one socket per address, also for addresses that are added later',
      'dynamic',
    ),
    flag('-z, --bind-interfaces', 'one socket per address', 'interfaces'),
  ),
  /** Which clients get answers. */
  localService: field<'off' | 'net' | 'host'>(
    'off',
    setting(
      '--local-service[=]',
      'answer only clients of networks that this machine is in: net (default) or host',
      (value) => {
        if (value !== '' && value !== 'net' && value !== 'host') {
          throw new OptionError(`${JSON.stringify(value)} is neither net nor host`);
        }
        return value === 'host' ? 'host' : 'net';
      },
    ),
  ),
  /** Undefined unless given; dnsmasq has 20. */
  maxTcpConnections: field<number | undefined>(
    undefined,
    setting('--max-tcp-connections=', 'maximum of open TCP connections', positive),
  ),
  /** How old a TCP connection of a client gets at most, in milliseconds; 0 is no limit. */
  maxTcpAgeMs: field(
    DEFAULT_TCP_AGE_MS,
    setting(
      '--tcp-max-age=',
      'extension: oldest that a TCP connection of a client gets (default 10m), so that clients spread over new replicas; 0: no limit',
      durationMs,
    ),
  ),
  maxUdpBytes: field(
    1232,
    setting('-P, --edns-packet-max=', 'largest UDP answer in bytes (default 1232)', (value) =>
      Math.min(Math.max(wholeNumber(value), MIN_UDP_BYTES), MAX_UDP_BYTES),
    ),
  ),
  /** The file that the log is appended to; empty is stderr. */
  logFile: field(
    '',
    setting(
      '-8, --log-facility=',
      'file that the log is appended to; - and syslog facilities mean stderr',
      (value) => {
        if (value.includes('/')) return value;
        if (FACILITIES.test(value)) return '';
        throw new OptionError(`no facility ${JSON.stringify(value)}`, 'bad log facility');
      },
    ),
  ),
  logsQueries: field<'no' | 'yes' | 'extra'>(
    'no',
    repeated(
      '-q, --log-queries[=]',
      'log queries and answers; extra adds the client and a serial number',
      (value) => (value === 'extra' ? 'extra' : 'yes'),
    ),
  ),

  // What is cached, and for how long.

  /** Records that the cache holds; 0 turns it off. */
  cacheSize: field(
    150,
    setting(
      '-c, --cache-size[=]',
      'records that the cache holds; 0 turns it off (default 150)',
      (value) => Math.min(wholeNumber(value), MAX_CACHE_SIZE),
    ),
  ),
  cachesNegatives: field(true, flag('-N, --no-negcache', 'do not cache negative answers', false)),
  /** Those of the zones whose servers announce when they change, whatever `cachesNegatives` is. */
  cachesAnnouncedNegatives: field(
    false,
    setting(
      '--negcache=',
      'push: cache negative answers of zones whose server announces their changes, also with --no-negcache',
      (value) => {
        if (value !== 'push') throw new OptionError('bad value, must be push');
        return true;
      },
    ),
  ),
  /** TTL of negative answers without SOA, in seconds; 0 does not cache them. */
  negTtlSeconds: field(
    0,
    setting('--neg-ttl=', 'TTL of negative answers without an SOA, seconds (default 0)', number),
  ),
  /** Ceiling on TTLs sent to clients, in seconds; 0 is none. */
  maxTtlSeconds: field(
    0,
    setting('--max-ttl=', 'ceiling on TTLs sent to clients, seconds', number),
  ),
  /** Ceiling on TTLs in the cache, in seconds; 0 is none, as is dnsmasq's default. */
  maxCacheTtlSeconds: field(
    86_400,
    setting(
      '--max-cache-ttl=',
      'ceiling on TTLs in the cache, seconds (default 86400; 0: none)',
      number,
    ),
  ),
  /** Floor on TTLs in the cache, in seconds; 0 is none. */
  minCacheTtlSeconds: field(
    0,
    setting('--min-cache-ttl=', 'floor on TTLs in the cache, seconds, 3600 at most', (value) =>
      Math.min(wholeNumber(value), MAX_MIN_CACHE_TTL_SECONDS),
    ),
  ),
  /** Types that are cached in addition to dnsmasq's own; 255 is every type. */
  cachedTypes: listField(
    addsFields(
      '--cache-rr=',
      'types to cache in addition to A, AAAA, PTR and SRV; ANY is all',
      types,
    ),
  ),
  /** For how long expired answers are served at once, in seconds; 0 is not at all, Infinity is without limit. */
  maxStaleSeconds: field(
    0,
    setting(
      '--use-stale-cache[=]',
      'serve expired answers for up to this many seconds while refreshing them (default 86400; 0: no limit)',
      (value) => {
        const seconds = value === '' ? STALE_SECONDS : wholeNumber(value);
        return seconds === 0 ? Number.POSITIVE_INFINITY : seconds;
      },
    ),
  ),
  /** Expired answers are served when there is no reply in time; undefined is not at all. */
  stale: field<StaleOptions | undefined>(
    undefined,
    setting(
      '--stale=',
      'extension: TIMEOUT[,MAXAGE[,TTL]]: serve expired answers when there is no reply in time (default MAXAGE 1h, TTL 30)',
      parseStale,
    ),
  ),
  /** Popular answers are asked for again before they expire; undefined is none. */
  prefetch: field<PrefetchOptions | undefined>(
    undefined,
    setting(
      '--prefetch[=]',
      'extension: HITS[,PERCENT]: ask again before answers expire that were asked for so often (default 3,10)',
      parsePrefetch,
    ),
  ),
  rotatesRecords: field(
    true,
    flag('--no-round-robin', 'do not rotate the records of an RRset', false),
  ),
  hasIdent: field(true, flag('--no-ident', 'no names of class CHAOS', false)),

  // Which servers queries are forwarded to, and how.

  /** Questions in flight; ten times dnsmasq's default, which is too small for a cluster. */
  maxInFlight: field(
    1_500,
    setting('-0, --dns-forward-max=', 'maximum of questions in flight (default 1500)', number),
  ),
  /** Of these, those of one address over UDP without a server cookie: it may be forged. As many as dnsmasq has for all. */
  maxUnproven: field(
    150,
    setting(
      '--client-forward-max=',
      'extension: maximum of questions in flight for one address over UDP without a server cookie (default 150); raise it where a whole node has one address',
      number,
    ),
  ),
  serverRules: listField<ServerRule>(
    adds('--local=', 'same as server', parseServerRule),
    adds(
      '--rev-server=',
      'IP[/bits],server: forward reverse names of these addresses to this server',
      parseReverseServer,
    ),
    adds(
      '-S, --server=',
      '[/domain/…/]IP[#port][@source]: forward queries to this server; extension: tls://host[#port][%name], https://host[:port]/path',
      parseServerRule,
    ),
  ),
  /** A file of `server` and `rev-server` lines that SIGHUP reads again; empty is none. */
  serversFile: field(
    '',
    setting('--servers-file=', 'file of server lines, read again on SIGHUP', text),
  ),
  usesResolvFile: field(true, flag('-R, --no-resolv', 'do not read the resolv file', false)),
  /** The last one of `--resolv-file`; empty means none. */
  resolvFile: field('/etc/resolv.conf'),
  /** All of them: the one that changed last is used. */
  resolvFiles: listField<string>(),
  followsResolvFile: field(
    true,
    flag('-n, --no-poll', 'read the resolv file on SIGHUP only', false),
  ),
  clearsOnReload: field(
    false,
    flag('--clear-on-reload', 'empty the cache when the resolv file changes', true),
  ),
  isStrictOrder: field(false, flag('-o, --strict-order', 'ask servers in their order', true)),
  asksAllServers: field(false, flag('--all-servers', 'ask all servers at the same time', true)),
  fastRetry: field<FastRetry | undefined>(
    undefined,
    setting(
      '--fast-dns-retry[=]',
      'ms before the first retransmission[,ms until the last] (default 1000,10000)',
      (value) => {
        const [firstMs = FAST_RETRY_MS, limitMs = FAST_RETRY_LIMIT_MS] =
          value === '' ? [] : value.split(',').map(number);
        if (firstMs < MIN_FAST_RETRY_MS) throw new OptionError(`${firstMs} ms are too few`);
        return { firstMs, limitMs };
      },
    ),
  ),
  /** After this time an unanswered query gets SERVFAIL. */
  queryTimeoutMs: field(
    4_500,
    setting(
      '--query-timeout=',
      'extension: milliseconds before an unanswered query gets SERVFAIL (default 4500)',
      (value) => Math.max(wholeNumber(value), 1),
    ),
  ),
  udpEngine: field<UdpEngineChoice>(
    'auto',
    setting(
      '--udp-engine=',
      `extension: how datagrams move: ${UDP_ENGINES.join(', ')} (default auto)`,
      (value) => {
        const choice = UDP_ENGINES.find((engine) => engine === value);
        if (choice !== undefined) return choice;
        throw new OptionError(`${JSON.stringify(value)} is none of ${UDP_ENGINES.join(', ')}`);
      },
    ),
  ),
  detectsLoops: field(
    false,
    flag('--dns-loop-detect', 'find and drop servers that send queries back', true),
  ),
  /** The source port of all queries, 0 for one that the system chooses; undefined is a new one per query. */
  queryPort: field<number | undefined>(
    undefined,
    setting(
      '-Q, --query-port=',
      'source port of all queries; 0 lets the system choose it once',
      port,
    ),
  ),
  /** Lowest source port of queries; 0 is 1024. */
  minPort: field(0, setting('--min-port=', 'lowest source port of queries (default 1024)', port)),
  /** Highest source port of queries; 0 is 65535. */
  maxPort: field(0, setting('--max-port=', 'highest source port of queries (default 65535)', port)),
  portLimit: field(
    1,
    setting('--port-limit=', 'from how many source ports one question may be sent', positive),
  ),
  passesAd: field(
    false,
    flag('--proxy-dnssec', 'copy the AD bit (DNSSEC validated) of upstream replies', true),
  ),
  /** The case of names in queries is random, and the reply must have the same. */
  mixesCase: field(
    false,
    flag(
      '--use-0x20',
      'extension: random case for the names of queries; the reply must have the same',
      true,
    ),
  ),
  /** The file of the authorities that encrypted servers are checked by; empty is the system's. */
  tlsCaFile: field(
    '',
    setting(
      '--tls-ca=',
      'extension: file with the authorities of tls:// and https:// servers, as PEM (default: those of the system)',
      text,
    ),
  ),
  /** What queries to upstream servers contain about the clients. */
  ednsChanges: field<EdnsChanges>(
    NO_EDNS_CHANGES,
    setting('--add-cpe-id=', 'add this text to queries', (cpeId, edns) => ({ ...edns, cpeId })),
    repeated(
      '--add-mac[=]',
      'add the client’s MAC to queries, as bytes, base64 or text',
      (value, edns) => {
        if (value === '') return { ...edns, addsMac: true };
        if (value === 'base64' || value === 'text') return { ...edns, addsMacText: value };
        throw new OptionError(`${JSON.stringify(value)} is neither base64 nor text`);
      },
    ),
    setting(
      '--add-subnet[=]',
      '[IP/]bits[,[IP/]bits]: add this many bits of the client’s address to queries',
      (value, edns) => ({ ...edns, addsSubnet: parseSubnets(value) }),
    ),
    effect('--strip-mac', 'remove the client’s MAC from queries', (edns) => ({
      ...edns,
      stripsMac: true,
    })),
    effect('--strip-subnet', 'remove the client’s subnet from queries', (edns) => ({
      ...edns,
      stripsSubnet: true,
    })),
    fields(
      '--umbrella[=]',
      'deviceid:…,orgid:…,assetid:…: add these and the client’s address for Cisco Umbrella',
      (values, edns) => ({ ...edns, umbrella: parseUmbrella(values.filter(Boolean)) }),
    ),
  ),

  // Changes that servers announce, and cookies (RFC 7873). dnsmasq has none of these options.

  /** Whether the servers of domains are asked to announce what changes there. */
  subscribes: field(
    true,
    flag('--no-subscribe', 'do not ask servers of domains to announce what changes there', false),
  ),
  /** The servers of all names, too: they may be of others, whom a connection each minute is of no use to. */
  subscribesToAll: field(
    false,
    flag(
      '--subscribe-all',
      'extension: ask the servers of all names, too, to announce what changes there',
      true,
    ),
  ),
  /** Whether those who subscribe here get the changes that servers announce. */
  announcesChanges: field(
    true,
    flag(
      '--no-announce-changes',
      'do not announce to subscribers what servers of domains announce',
      false,
    ),
    flag('--no-tell-changes', 'the same, by its former name', false),
  ),
  /** Who may subscribe besides this machine or pod; undefined: everyone. */
  subscribers: field<ClientNetworks | undefined>(
    undefined,
    setting(
      '--subscribers=',
      'extension: IP[/bits][,IP[/bits]…]: who may subscribe to changes besides this machine or pod; default: everyone',
      parseClientNetworks,
    ),
  ),
  /** Who may send a NOTIFY; none means that they are not implemented, as in dnsmasq. */
  notifyRules: listField<NotifyRule>(
    adds(
      '--allow-notify=',
      'extension: /zone/IP[/bits][,IP[/bits]…]: a NOTIFY from there drops cached answers of the zone',
      parseNotifyRule,
    ),
  ),
  /** The file of the key that a NOTIFY must be signed with; empty is none. */
  notifyKeyFile: field(
    '',
    setting(
      '--notify-key=',
      'extension: file with the TSIG key that a NOTIFY must be signed with, as tsig-keygen writes it',
      text,
    ),
  ),
  /** The file of the secrets of server cookies; empty is a random one. */
  cookieSecretFile: field(
    '',
    setting(
      '--cookie-secret-file=',
      'extension: file with the secret of server cookies, 32 hex digits, and the last one in a second line',
      text,
    ),
  ),
  /** Above so many queries a second without a good server cookie that is needed; undefined: never. */
  cookieRequiredAbove: field<number | undefined>(
    undefined,
    setting(
      '--require-cookie[=]',
      'extension: above so many UDP queries a second without a good server cookie they get BADCOOKIE or TC (default 10000)',
      (value) => (value === '' ? COOKIELESS_PER_SECOND : wholeNumber(value)),
    ),
  ),
  /** Servers are asked with cookies. */
  asksWithCookies: field(
    false,
    flag(
      '--upstream-cookies',
      'extension: ask servers with cookies, and take no reply without',
      true,
    ),
  ),

  // Which queries are not forwarded, and how answers are changed.

  stopsRebind: field(
    false,
    flag(
      '--stop-dns-rebind',
      'remove the records of default servers’ answers with private addresses',
      true,
    ),
  ),
  allowsLocalhostRebind: field(
    false,
    flag(
      '--rebind-localhost-ok',
      'allow loopback addresses in answers with --stop-dns-rebind',
      true,
    ),
  ),
  rebindDomains: field<PlainDomains>(
    { domains: [] },
    repeated('--rebind-domain-ok=', 'domains that may have private addresses', (value, before) => {
      const { domains, isUnqualified } = parsePlainDomains(value);
      return {
        domains: [...before.domains, ...domains],
        isUnqualified: before.isUnqualified === true || isUnqualified === true,
      };
    }),
  ),
  /** Answers with one of these become NXDOMAIN. */
  bogusNxdomain: listField<AddressRange>(
    adds(
      '-B, --bogus-nxdomain=',
      'answers with this address or range are NXDOMAIN',
      parseAddressRange,
    ),
  ),
  /** Answers with one of these are dropped. */
  ignoredAddresses: listField<AddressRange>(
    adds('--ignore-address=', 'drop answers with this address or range', parseAddressRange),
  ),
  aliases: listField<AddressAlias>(
    addsFields('-V, --alias=', 'old,new[,mask]: change addresses in answers', (values) => [
      parseAlias(values),
    ]),
  ),
  /** Types that are removed from answers; 255 is ANY questions. */
  filteredTypes: listField<number>(
    effect('--filter-A', 'remove A records from answers', (list) => [...list, TYPE.A]),
    effect('--filter-AAAA', 'remove AAAA records from answers', (list) => [...list, TYPE.AAAA]),
    addsFields('--filter-rr=', 'remove records of these types from answers', types),
  ),
  /** The prefix of AAAA records that are made of A records; undefined: none are made. */
  dns64Prefix: field<Nat64Prefix | undefined>(
    undefined,
    setting(
      '--dns64[=]',
      `extension: IPv6 prefix: make AAAA records of A records where there are none (default ${WELL_KNOWN_PREFIX})`,
      parseDns64Prefix,
    ),
  ),
  dns64Excluded: listField<AddressRange>(
    adds(
      '--dns64-exclude=',
      'extension: IP[/bits]: --dns64 takes AAAA records with it for absent, and makes none of A records with it',
      parseAddressRange,
    ),
  ),
  /** Names without a dot are not forwarded. */
  needsDomain: field(
    false,
    flag('-D, --domain-needed', 'do not forward names without a dot', true),
  ),
  /** Reverse names of private addresses are not forwarded. */
  isBogusPriv: field(
    false,
    flag('-b, --bogus-priv', 'do not forward reverse names of private addresses', true),
  ),
  /** SOA and SRV questions of old Windows are not forwarded. */
  filtersWindows: field(
    false,
    flag('-f, --filterwin2k', 'do not forward SOA and SRV questions of old Windows', true),
  ),

  // Which questions are answered without asking a server.

  /** TTL of records from hosts files and of static records without a TTL, in seconds. */
  localTtlSeconds: field(
    0,
    setting(
      '-T, --local-ttl=',
      'TTL of records from hosts files and of static records, seconds (default 0)',
      number,
    ),
  ),
  usesEtcHosts: field(true, flag('-h, --no-hosts', 'do not read /etc/hosts', false)),
  /** Files and directories. */
  hostsPaths: listField<string>(
    adds('-H, --addn-hosts=', 'hosts file, or directory of them, in addition to /etc/hosts', text),
  ),
  hostsDirs: listField<string>(
    adds('--hostsdir=', 'directory of hosts files, watched for changes', text),
  ),
  expandsHosts: field(
    false,
    flag('-E, --expand-hosts', 'add the domain to names of hosts files that have no dot', true),
  ),
  /** As text; empty is none. */
  domain: field(
    '',
    fields('-s, --domain[=]', 'the domain that --expand-hosts adds', ([domain = '']) => {
      if (domain !== '' && domain !== '#') nameOf(domain, 'bad domain');
      return domain === '#' ? '' : domain.replace(/\.$/, '');
    }),
  ),
  /** Static records; a PTR of `--host-record` is marked, because a name has only one of them. */
  records: listField<LocalRecord>(
    record('--caa-record=', 'name,flags,tag,value', caaRecord),
    addsFields('--cname=', 'name,target[,ttl]', cnameRecords),
    record('--dns-rr=', 'name,type number[,hex data]', anyRecord),
    addsFields(
      '--host-record=',
      'name,…,IPv4,IPv6[,ttl]: addresses and their reverse',
      hostRecords,
    ),
    record(
      '--naptr-record=',
      'name,order,preference,flags,service,regexp[,replacement]',
      naptrRecord,
    ),
    record('--ptr-record=', 'name,target', ptrRecord),
    record('-W, --srv-host=', 'name[,target[,port[,priority[,weight]]]]', srvRecord),
    record('-Y, --txt-record=', 'name,text,…', txtRecord),
  ),
  /** Of `--address`. */
  addressRules: listField<AddressRule>(),
  interfaceNames: listField<InterfaceName>(
    addsFields(
      '--dynamic-host=',
      'name,[IPv4],[IPv6],interface: a name for hosts in the networks of an interface',
      (values) => [parseDynamicHost(values)],
    ),
    addsFields('--interface-name=', 'name,interface[/4|/6]: a name for its addresses', (values) => [
      parseInterfaceName(values),
    ]),
  ),
  synthDomains: listField<SynthDomain>(
    addsFields(
      '--synth-domain=',
      'domain,IP/bits or IP,IP[,prefix[*]]: names made of the addresses of a range',
      (values) => [parseSynthDomain(values)],
    ),
  ),
  /** Of several addresses of a name, clients get those in their own network. */
  localisesQueries: field(
    false,
    flag(
      '-y, --localise-queries',
      'answer with the addresses of a name that are in the client’s network',
      true,
    ),
  ),
  /** The MX target of hosts without MX records: a name, or each host itself. */
  hostMx: field<Uint8Array | 'self' | undefined>(
    undefined,
    flag('-e, --selfmx', 'an MX record with itself as the target for each host', 'self'),
  ),
  /** Empty is this machine. With the next two it becomes `records` and `hostMx` when all options are read. */
  mxTarget: field('', setting('-t, --mx-target=', 'the target of --mx-host that has none', text)),
  /** The names of `--mx-host` that have no target. */
  mxNames: listField<string>(),
  sendsHostMxToTarget: field(
    false,
    flag('-L, --localmx', 'an MX record with the target --mx-target for each host', true),
  ),
};

type Fields = typeof FIELDS;

/** The options while the command line and files are read. */
export type OptionsDraft = {
  -readonly [K in keyof Fields]: Fields[K] extends Field<infer T> ? T : never;
} & {
  /** Each option as it was given. */
  readonly given: GivenOptions;
};

/** The options in dnsmasq's half of the command line. */
export type DnsmasqOptions = {
  readonly [K in keyof OptionsDraft]: OptionsDraft[K] extends readonly (infer T)[]
    ? readonly T[]
    : OptionsDraft[K];
};

/** One option of dnsmasq: its spellings, whether it takes a value, and its effect on the draft. */
export type OptionDefinition = FieldOption<OptionsDraft>;

/** The options of an empty command line. */
export function defaultOptions(): OptionsDraft {
  const initial = Object.entries(FIELDS).map(([key, each]) => [key, each.initial()] as const);
  // Each value is the initial one of the field of its name.
  const values = Object.fromEntries(initial) as Omit<OptionsDraft, 'given'>;
  return { ...values, given: new GivenOptions() };
}

const OPTIONS_OF_SEVERAL_FIELDS: readonly OptionDefinition[] = [
  repeated('-A, --address=', '/domain/…/[IP]: the answer for these domains', (value, draft) => {
    const rule = parseAddressRule(value);
    if ('target' in rule) draft.serverRules.push(rule);
    else draft.addressRules.push(rule);
    return draft;
  }),
  fields('-m, --mx-host=', 'name[,target[,preference]]', (values, draft) => {
    // The target may be on a later line; the name is checked here, while its line is being read.
    const made = mxRecord(values);
    if (values.length === 1) draft.mxNames.push(values[0]!);
    else draft.records.push(made);
    return draft;
  }),
  repeated(
    '-r, --resolv-file[=]',
    'file with the default name servers; empty is none (default /etc/resolv.conf)',
    (value, draft) => {
      draft.resolvFile = value;
      if (value !== '') draft.resolvFiles.push(value);
      return draft;
    },
  ),
];

const asItIs = (draft: OptionsDraft) => draft;
/** The reader of the command line and of files handles those that name files. */
const nothing = (_: string, draft: OptionsDraft) => draft;
const OTHER_USER = 'accepted: the user of the process does not change';
const FOREGROUND = 'accepted: it always stays in the foreground';

const OPTIONS_WITHOUT_EFFECT: readonly OptionDefinition[] = [
  setting('-g, --group[=]', OTHER_USER, nothing),
  effect('-k, --keep-in-foreground', FOREGROUND, asItIs),
  setting('--log-async[=]', 'accepted: the log never delays answers', (value, draft) => {
    if (value !== '') wholeNumber(value);
    return draft;
  }),
  effect('-d, --no-daemon', FOREGROUND, asItIs),
  setting('-x, --pid-file[=]', 'accepted: no file is written', nothing),
  setting('-u, --user[=]', OTHER_USER, nothing),
];

/** The options that name files with more options, or print a text. */
const FILE_OPTIONS: readonly OptionDefinition[] = [
  repeated('-7, --conf-dir=', 'directory[,.ext…|,*.ext…] of configuration files', nothing),
  repeated(
    '-C, --conf-file[=]',
    'configuration file (default /etc/dnsmasq.conf, which may be missing)',
    nothing,
  ),
  repeated('--conf-script=', 'shell command whose output is a configuration file', nothing),
  effect('-w, --help', 'list the options and exit', (draft) => {
    draft.request = 'help';
    return draft;
  }),
  effect('-v, --version', 'print the version and exit', (draft) => {
    draft.request = 'version';
    return draft;
  }),
];

/** An option of one field, applied to that field of the draft. */
function ofField(key: string, option: FieldOption<unknown>): OptionDefinition {
  const apply = (value: string, draft: OptionsDraft) => {
    const values = draft as Record<string, unknown>;
    values[key] = option.apply(value, values[key]);
    return draft;
  };
  return { ...option, apply };
}

const byName = (one: OptionDefinition, other: OptionDefinition) => (one.name < other.name ? -1 : 1);

/** Every supported option, sorted by name; those that name files or print a text are the last. */
export const KNOWN_OPTIONS: readonly OptionDefinition[] = [
  ...Object.entries<Field<unknown>>(FIELDS).flatMap(([key, { options }]) =>
    options.map((option) => ofField(key, option)),
  ),
  ...OPTIONS_OF_SEVERAL_FIELDS,
  ...OPTIONS_WITHOUT_EFFECT,
]
  .sort(byName)
  .concat(FILE_OPTIONS);

const BY_NAME = new Map(KNOWN_OPTIONS.map((option) => [option.name, option]));
const BY_LETTER = new Map(KNOWN_OPTIONS.map((option) => [option.short, option]));
const UNSUPPORTED_BY_LETTER = new Map(UNSUPPORTED_OPTIONS.map(({ short, name }) => [short, name]));
/** All options of dnsmasq, supported or not. */
export const OPTION_SPELLINGS: readonly OptionSpelling[] = [
  ...KNOWN_OPTIONS,
  ...UNSUPPORTED_OPTIONS,
];
/** Their names. */
export const OPTION_NAMES: readonly string[] = OPTION_SPELLINGS.map(({ name }) => name);

/** Finds an option by its name or an unambiguous abbreviation. Throws an OptionError. */
export function findByAbbreviation(name: string): OptionDefinition {
  const matches = OPTION_NAMES.includes(name)
    ? [name]
    : OPTION_NAMES.filter((full) => full.startsWith(name));
  if (matches.length === 1) return findByName(matches[0]!);
  if (matches.length === 0) throw new OptionError(`unknown option --${name}${meant(name, '--')}`);
  const list = matches.map((full) => `--${full}`).join(', ');
  throw new OptionError(`ambiguous option --${name}: ${list}`);
}

/** Finds an option by its whole name. Throws an OptionError. */
export function findByName(name: string): OptionDefinition {
  const option = BY_NAME.get(name);
  if (option !== undefined) return option;
  if (OPTION_NAMES.includes(name)) throw unsupported(name);
  throw new OptionError(`unknown option ${JSON.stringify(name)}${meant(name, '')}`, 'bad option');
}

/** Finds an option by its letter. Throws an OptionError. */
export function findByLetter(letter: string): OptionDefinition {
  const option = BY_LETTER.get(letter);
  if (option !== undefined && letter !== '') return option;
  const name = UNSUPPORTED_BY_LETTER.get(letter);
  if (name !== undefined && letter !== '') throw unsupported(name);
  throw new OptionError(`unknown option -${letter}`);
}

/** `; did you mean --x?`, or nothing: dnsmasq's own words name its help already. Files have no dashes. */
function meant(name: string, dashes: '--' | ''): string {
  const near = nearest(name, BY_NAME.keys());
  return near === undefined ? '' : `; did you mean ${dashes}${near}?`;
}

function unsupported(name: string): OptionError {
  return new OptionError('', `unsupported option: --${name}`);
}

/** The lists whose members an answer may come from. */
const RULE_LISTS = [
  'serverRules',
  'addressRules',
  'records',
  'interfaceNames',
  'synthDomains',
] as const;

/** Applies an option to the draft, and notes it with the rules and records that it made; nothing is noted if it throws. */
export function applyOption(
  draft: OptionsDraft,
  option: OptionDefinition,
  value: string,
  given: GivenOption,
): void {
  const lengths = RULE_LISTS.map((list) => draft[list].length);
  option.apply(value, draft);
  const made = RULE_LISTS.flatMap((list, i): readonly object[] => draft[list].slice(lengths[i]));
  draft.given.note(given, made);
}

/** The options as `--help` lists them. */
export function optionsText(): string {
  const lines = [...KNOWN_OPTIONS].sort(byName).map(({ name, short, value, help }) => {
    const shape = { none: '', required: '=<value>', optional: '[=<value>]' }[value];
    const left = `  ${short === '' ? '    ' : `-${short}, `}--${name}${shape}`;
    return `${left.padEnd(36)} ${help}`;
  });
  return ['dnsmasq options, behind `--`:', ...lines, ''].join('\n');
}
