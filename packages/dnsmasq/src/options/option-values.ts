import type { FastRetry, UdpEngineChoice } from '@kube-dns/transport';
import type { AddressAlias, AddressRange } from './address-range.js';
import { type EdnsChanges, NO_EDNS_CHANGES } from './edns-changes.js';
import { GivenOptions } from './given-options.js';
import type { PlainDomains } from './rule-domains.js';
import type { AddressRule, ServerRule } from './server-value.js';
import type { NotifyRule } from './notify-rule.js';
import type { LocalRecord } from './record-values.js';
import type { PrefetchOptions } from '@kube-dns/resolver';
import type { StaleOptions } from './stale-value.js';
import type { SynthDomain } from './synth-domain.js';

/** The options in dnsmasq's half of the command line; the defaults are dnsmasq's unless a field says otherwise. */
export interface DnsmasqOptions {
  /** What to do: serve, check the options, or print a text. */
  readonly request: 'serve' | 'test' | 'help' | 'version';
  /** Each option as it was given. */
  readonly given: GivenOptions;

  /** 0 takes a free port; dnsmasq itself would serve no DNS then. */
  readonly port: number;
  /** Other processes with this option may serve the same port. */
  readonly reusesPort: boolean;
  /** None means every address, unless there are interfaces. */
  readonly listenAddresses: readonly string[];
  /** Names of interfaces; a `*` at the end matches every name with this prefix. */
  readonly interfaces: readonly string[];
  readonly exceptInterfaces: readonly string[];
  /** One socket per address; `dynamic` also for addresses that are added later. */
  readonly binding: 'wildcard' | 'interfaces' | 'dynamic';
  /** `--local-service`: which clients get answers. */
  readonly localService: 'off' | 'net' | 'host';
  /** Undefined unless given; dnsmasq has 20. */
  readonly maxTcpConnections: number | undefined;
  readonly maxUdpBytes: number;

  /** Records that the cache holds; 0 turns it off. */
  readonly cacheSize: number;
  readonly cachesNegatives: boolean;
  /** Those of the zones whose servers tell when they change, whatever `cachesNegatives` is. */
  readonly cachesToldNegatives: boolean;
  /** TTL of negative answers without SOA, in seconds; 0 does not cache them. */
  readonly negTtlSeconds: number;
  /** Ceiling on TTLs sent to clients, in seconds; 0 is none. */
  readonly maxTtlSeconds: number;
  /** Ceiling and floor on TTLs in the cache, in seconds; 0 is none. dnsmasq has no ceiling by default. */
  readonly maxCacheTtlSeconds: number;
  readonly minCacheTtlSeconds: number;
  /** Types that are cached in addition to dnsmasq's own (`--cache-rr`); 255 is every type. */
  readonly cachedTypes: readonly number[];
  /** For how long expired answers are served at once, in seconds; 0 is not at all, Infinity is without limit. */
  readonly maxStaleSeconds: number;
  /** Expired answers are served when there is no reply in time; undefined is not at all. */
  readonly stale: StaleOptions | undefined;
  /** Popular answers are asked for again before they expire; undefined is none. */
  readonly prefetch: PrefetchOptions | undefined;
  readonly rotatesRecords: boolean;
  readonly hasIdent: boolean;

  /** Questions in flight; ten times dnsmasq's default, which is too small for a cluster. */
  readonly maxInFlight: number;
  readonly serverRules: readonly ServerRule[];
  /** Whether the servers of domains are asked to tell what changes there. */
  readonly subscribes: boolean;
  /** Whether those who subscribe here are told the changes that servers tell. */
  readonly tellsChanges: boolean;
  /** Who may send a NOTIFY; none means that they are not implemented, as in dnsmasq. */
  readonly notifyRules: readonly NotifyRule[];
  /** The file of the key that a NOTIFY must be signed with; empty is none. */
  readonly notifyKeyFile: string;
  /** The file of the secrets of server cookies; empty is a random one. */
  readonly cookieSecretFile: string;
  /** Above so many queries a second without a good server cookie that is needed; undefined: never. */
  readonly cookieRequiredAbove: number | undefined;
  /** Servers are asked with cookies. */
  readonly asksWithCookies: boolean;
  /** A file of `server` and `rev-server` lines that SIGHUP reads again; empty is none. */
  readonly serversFile: string;
  readonly usesResolvFile: boolean;
  /** The last resolv file that was given; empty means none. */
  readonly resolvFile: string;
  /** All of them: the one that changed last is used. */
  readonly resolvFiles: readonly string[];
  readonly followsResolvFile: boolean;
  readonly clearsOnReload: boolean;
  readonly isStrictOrder: boolean;
  readonly asksAllServers: boolean;
  readonly fastRetry: FastRetry | undefined;
  /** After this time an unanswered query gets SERVFAIL. */
  readonly queryTimeoutMs: number;
  readonly udpEngine: UdpEngineChoice;
  readonly detectsLoops: boolean;
  /** The source port of all queries, 0 for one that the system chooses; undefined is a new one per query. */
  readonly queryPort: number | undefined;
  /** Lowest and highest source port of queries; 0 is 1024 and 65535. */
  readonly minPort: number;
  readonly maxPort: number;
  /** From how many source ports one question may be sent. */
  readonly portLimit: number;
  readonly passesAd: boolean;
  /** The case of names in queries is random, and the reply must have the same. */
  readonly mixesCase: boolean;
  readonly ednsChanges: EdnsChanges;
  /** The file of the authorities that encrypted servers are checked by; empty is the system's. */
  readonly tlsCaFile: string;

  readonly stopsRebind: boolean;
  readonly allowsLocalhostRebind: boolean;
  readonly rebindDomains: PlainDomains;
  /** Answers with one of these become NXDOMAIN. */
  readonly bogusNxdomain: readonly AddressRange[];
  /** Answers with one of these are dropped. */
  readonly ignoredAddresses: readonly AddressRange[];
  readonly aliases: readonly AddressAlias[];
  /** Types that are removed from answers (`--filter-A`, `--filter-AAAA`, `--filter-rr`); 255 is ANY questions. */
  readonly filteredTypes: readonly number[];

  /** Names without a dot are not forwarded. */
  readonly needsDomain: boolean;
  /** Reverse names of private addresses are not forwarded. */
  readonly isBogusPriv: boolean;
  /** SOA and SRV questions of old Windows are not forwarded. */
  readonly filtersWindows: boolean;
  /** TTL of records from hosts files and of static records without a TTL, in seconds. */
  readonly localTtlSeconds: number;
  readonly usesEtcHosts: boolean;
  /** Files and directories of `--addn-hosts`, and the directories of `--hostsdir`. */
  readonly hostsPaths: readonly string[];
  readonly hostsDirs: readonly string[];
  readonly expandsHosts: boolean;
  /** `--domain`, as text; empty is none. */
  readonly domain: string;
  /** Static records; a PTR of `--host-record` is marked, because a name has only one of them. */
  readonly records: readonly LocalRecord[];
  readonly addressRules: readonly AddressRule[];
  readonly interfaceNames: readonly InterfaceName[];
  readonly synthDomains: readonly SynthDomain[];
  /** Of several addresses of a name, clients get those in their own network. */
  readonly localisesQueries: boolean;
  /** The MX target of hosts without MX records: a name, or each host itself. */
  readonly hostMx: Uint8Array | 'self' | undefined;

  /** The file that the log is appended to; empty is stderr. */
  readonly logFile: string;
  readonly logsQueries: 'no' | 'yes' | 'extra';
}

/** `--interface-name` and `--dynamic-host`: a name for addresses of an interface, or in its networks. */
export interface InterfaceName {
  /** Lower-cased, in wire form. */
  readonly name: Uint8Array;
  readonly interface: string;
  readonly families: 'both' | 'ipv4' | 'ipv6';
  /** Addresses whose host parts replace that of the interface's address. */
  readonly hosts?: readonly Uint8Array[];
}

/** The options while the command line and files are read. */
export type OptionsDraft = {
  -readonly [K in keyof DnsmasqOptions]: DnsmasqOptions[K] extends readonly (infer T)[]
    ? T[]
    : DnsmasqOptions[K];
} & {
  /** `--mx-target`; empty is this machine. */
  mxTarget: string;
  /** The names of `--mx-host` that have no target. */
  mxNames: string[];
  /** `--localmx`. */
  sendsHostMxToTarget: boolean;
};

/** The options of an empty command line. */
export function defaultOptions(): OptionsDraft {
  return {
    request: 'serve',
    given: new GivenOptions(),
    port: 53,
    reusesPort: false,
    listenAddresses: [],
    interfaces: [],
    exceptInterfaces: [],
    binding: 'wildcard',
    localService: 'off',
    maxTcpConnections: undefined,
    maxUdpBytes: 1232,
    cacheSize: 150,
    cachesNegatives: true,
    cachesToldNegatives: false,
    subscribes: true,
    tellsChanges: true,
    negTtlSeconds: 0,
    maxTtlSeconds: 0,
    maxCacheTtlSeconds: 86_400,
    minCacheTtlSeconds: 0,
    cachedTypes: [],
    maxStaleSeconds: 0,
    stale: undefined,
    prefetch: undefined,
    rotatesRecords: true,
    hasIdent: true,
    maxInFlight: 1_500,
    serverRules: [],
    notifyRules: [],
    notifyKeyFile: '',
    cookieSecretFile: '',
    cookieRequiredAbove: undefined,
    asksWithCookies: false,
    tlsCaFile: '',
    serversFile: '',
    usesResolvFile: true,
    resolvFile: '/etc/resolv.conf',
    resolvFiles: [],
    followsResolvFile: true,
    clearsOnReload: false,
    isStrictOrder: false,
    asksAllServers: false,
    fastRetry: undefined,
    detectsLoops: false,
    queryTimeoutMs: 4_500,
    udpEngine: 'auto',
    queryPort: undefined,
    minPort: 0,
    maxPort: 0,
    portLimit: 1,
    mixesCase: false,
    passesAd: false,
    ednsChanges: NO_EDNS_CHANGES,
    stopsRebind: false,
    allowsLocalhostRebind: false,
    rebindDomains: { domains: [] },
    bogusNxdomain: [],
    ignoredAddresses: [],
    aliases: [],
    filteredTypes: [],
    needsDomain: false,
    isBogusPriv: false,
    filtersWindows: false,
    localTtlSeconds: 0,
    usesEtcHosts: true,
    hostsPaths: [],
    hostsDirs: [],
    expandsHosts: false,
    domain: '',
    records: [],
    addressRules: [],
    interfaceNames: [],
    synthDomains: [],
    localisesQueries: false,
    hostMx: undefined,
    logFile: '',
    logsQueries: 'no',
    mxTarget: '',
    mxNames: [],
    sendsHostMxToTarget: false,
  };
}
