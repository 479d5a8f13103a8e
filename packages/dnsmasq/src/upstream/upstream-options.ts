import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Log } from '@kube-dns/daemon';
import type { Relay, SubscribedServer, Subscriptions } from '@kube-dns/push';
import type { AnswerCacheOptions, CachingRules, Dns64Options } from '@kube-dns/resolver';
import {
  type QueryForwarderOptions,
  retryPlan,
  type ServerAddress,
  type ServerGroup,
  type ServerOrder,
  type SourcePorts,
  type UdpEngine,
} from '@kube-dns/transport';
import { ROOT_NAME, TYPE } from '@kube-dns/wire';
import type { NannyFlags } from '../config/flags.js';
import { ResolvFiles } from '../config/resolv-files.js';
import { ServersFile } from '../config/servers-file.js';
import type { DnsmasqOptions } from '../options/option-table.js';
import { parseServer } from '../options/server-value.js';
import { addsOptions, EdnsOptions, Neighbours } from './edns-options.js';

// The options of the command line for the cache and for upstream servers, as the parts that need them have them.

/** The EDNS options that queries are sent with; undefined without any. */
export function ednsOptions({ ednsChanges }: DnsmasqOptions, log: Log): EdnsOptions | undefined {
  if (!addsOptions(ednsChanges)) return undefined;
  return new EdnsOptions(ednsChanges, new Neighbours(), log);
}

/** The files that name upstream servers; undefined where none does. */
export function resolvFiles(options: DnsmasqOptions, log: Log): ResolvFiles | undefined {
  const { usesResolvFile, resolvFile, resolvFiles: several } = options;
  const paths = several.length > 0 ? several : [resolvFile];
  return usesResolvFile && resolvFile !== '' ? new ResolvFiles({ paths, log }) : undefined;
}

/** The file of further servers; undefined where none is given. */
export function serversFile(
  { serversFile: path }: DnsmasqOptions,
  log: Log,
): ServersFile | undefined {
  return path === '' ? undefined : new ServersFile(path, log);
}

/** The server that resolves names of the cluster; undefined, and logged, where it cannot be read. */
export function kubednsServer(
  { kubednsServer: text }: NannyFlags,
  log: Log,
): ServerAddress | undefined {
  const server = parseServer(text);
  if (server === undefined) {
    log.warn(`-kubednsServer: ${JSON.stringify(text)} is no IP address with a port; not used`);
  }
  return server;
}

/** The order in which the servers of a group are queried. */
export function serverOrder({ isStrictOrder, asksAllServers }: DnsmasqOptions): ServerOrder {
  if (asksAllServers) return 'all';
  return isStrictOrder ? 'strict' : 'preferred';
}

/** The source ports of queries. */
export function sourcePorts({ queryPort, minPort, maxPort }: DnsmasqOptions): SourcePorts {
  return {
    ...(queryPort !== undefined && { fixed: queryPort }),
    ...(minPort > 0 && { min: minPort }),
    ...(maxPort > 0 && { max: maxPort }),
  };
}

/** The options of the cache in the command line, which the subscriptions keep right. */
export function cacheOptions(
  options: DnsmasqOptions,
  subscriptions: Pick<Subscriptions, 'lastSeen' | 'serverNumber'>,
): AnswerCacheOptions {
  const { cacheSize: maxRecords, maxTtlSeconds, stale, rotatesRecords } = options;
  const maxStaleSeconds = stale?.maxAgeSeconds ?? options.maxStaleSeconds;
  const staleTtlSeconds = stale?.ttlSeconds ?? 0;
  const countsHits = options.prefetch !== undefined;
  return {
    maxRecords,
    maxTtlSeconds,
    maxStaleSeconds,
    staleTtlSeconds,
    rotatesRecords,
    countsHits,
    lastSeen: subscriptions.lastSeen,
    zoneServers: subscriptions,
  };
}

/** The rules for caching answers in the command line. */
export function cachingRules(options: DnsmasqOptions): CachingRules {
  const extraTypes = new Set(options.cachedTypes);
  const isEveryType = extraTypes.has(TYPE.ANY);
  return {
    isExtraType: (type) => isEveryType || extraTypes.has(type),
    cachesNegatives: options.cachesNegatives,
    cachesAnnouncedNegatives: options.cachesAnnouncedNegatives,
    negativeTtlSeconds: options.negTtlSeconds,
    minTtlSeconds: options.minCacheTtlSeconds,
    maxTtlSeconds: options.maxCacheTtlSeconds,
    cachesZeroTtls: options.maxStaleSeconds > 0,
  };
}

/** `--dns64`, for every client: what is not of the cluster; undefined without it. */
export function dns64Options(
  { dns64Prefix, dns64Excluded }: Pick<DnsmasqOptions, 'dns64Prefix' | 'dns64Excluded'>,
  isExempt: Dns64Options['isExempt'],
): Dns64Options | undefined {
  if (dns64Prefix === undefined) return undefined;
  const rules = { prefix: dns64Prefix, excluded: dns64Excluded };
  return { ...rules, translatesAll: false, servesIpv4: true, isExempt };
}

/** How questions are forwarded, as the command line says; a cache that subscribes asks for many clients. */
export function forwarderOptions(
  options: DnsmasqOptions,
  subscribers: Pick<Relay['publisher'], 'hasClient'>,
  log: Log,
): QueryForwarderOptions {
  return {
    maxInFlight: options.maxInFlight,
    plan: retryPlan(options.queryTimeoutMs, options.fastRetry),
    portLimit: options.portLimit,
    maxUdpBytes: options.maxUdpBytes,
    passesAd: options.passesAd,
    mixesCase: options.mixesCase,
    maxUnproven: options.maxUnproven,
    isKnownClient: (address) => subscribers.hasClient(address),
    onOverflow: overflowLog(options, log),
  };
}

/** dnsmasq src/forward.c, query_full. */
const OVERFLOW_LOG_EVERY_MS = 5_000;

/** Logs, rate-limited and in dnsmasq's words, that the queries of a group are refused because too many are in flight. */
export function overflowLog(
  { maxInFlight, maxUnproven }: Pick<DnsmasqOptions, 'maxInFlight' | 'maxUnproven'>,
  log: Pick<Log, 'warn'>,
  now = () => performance.now(),
): (group: ServerGroup, isOfClient: boolean) => void {
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  return ({ domain }, isOfClient) => {
    const nowMs = now();
    if (nowMs - loggedAtMs <= OVERFLOW_LOG_EVERY_MS) return;
    loggedAtMs = nowMs;
    if (isOfClient) {
      log.warn(
        `Maximum number of concurrent DNS queries of one address without a server cookie reached (max: ${maxUnproven}, --client-forward-max)`,
      );
      return;
    }
    const target = domain === '.' ? '' : ` to ${domain}`;
    log.warn(`Maximum number of concurrent DNS queries${target} reached (max: ${maxInFlight})`);
  };
}

/**
 * The servers of `--server=/ZONE/ADDRESS`, which may announce the changes of these zones. Servers of all names are often
 * public ones: of these only kubedns is asked, unless the command line says otherwise.
 */
export function subscribedServers(
  { serverRules, subscribes, subscribesToAll, cacheSize }: DnsmasqOptions,
  kubedns?: ServerAddress,
): SubscribedServer[] {
  if (!subscribes || cacheSize === 0) return [];
  return serverRules.flatMap(({ domains, target }) => {
    if (target.kind !== 'server') return [];
    const { server, source } = target;
    const isAsked = subscribesToAll || isAt(server, kubedns);
    const zones = domains.filter((zone) => isAsked || zone.length > ROOT_NAME.length);
    // A connection could not leave by an interface, as queries do, and what is encrypted is never asked in plain text.
    if (zones.length === 0 || source !== undefined || server.encryption !== undefined) return [];
    return [{ server, zones }];
  });
}

function isAt({ address, port }: ServerAddress, other: ServerAddress | undefined): boolean {
  return port === other?.port && address === other.address;
}

/** Whether servers answer for the cluster: kubedns (`-kubednsServer`) is among them, or one that announces changes. */
export function isOfCluster(
  group: ServerGroup | undefined,
  kubedns: ServerAddress | undefined,
  subscriptions: Pick<Subscriptions, 'hasAnnounced'>,
): boolean {
  if (group === undefined) return false;
  const isKubedns = group.servers.some((server) => isAt(server, kubedns));
  return isKubedns || subscriptions.hasAnnounced(group);
}

type Ports = Pick<UdpEngine, 'batch' | 'openUpstreamPort' | 'sendTogether'>;

/** An attacker's names must not fill the log; dnsmasq logs each failure. */
const BIND_LOG_EVERY_MS = 1_000;

/**
 * The ports of an engine; a source of queries that this machine does not have is logged, rate-limited and in
 * dnsmasq's words (src/network.c, allocate_sfd). A source that is no address is the name of a device.
 */
export function loggedPorts(
  engine: Ports,
  log: Pick<Log, 'error'>,
  now = () => performance.now(),
): Ports {
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  const report = (source: string, reason: string) => {
    loggedAtMs = now();
    log.error(`failed to bind server socket to ${source}: ${reason}`);
  };
  return {
    get batch() {
      return engine.batch;
    },
    sendTogether: (work) => engine.sendTogether(work),
    openUpstreamPort: (options, owner) => {
      const { sourceAddress: source } = options;
      const isDevice = source !== undefined && isIP(source) === 0;
      const port = isDevice ? undefined : engine.openUpstreamPort(options, owner);
      if (port !== undefined || source === undefined || now() - loggedAtMs < BIND_LOG_EVERY_MS) {
        return port;
      }
      if (isDevice) report(source, 'No such device');
      else if (!isOwnAddress(source)) report(source, 'Cannot assign requested address');
      return undefined;
    },
  };
}

/** Of an address that the machine has, it is the port that is taken. */
function isOwnAddress(address: string): boolean {
  return Object.values(networkInterfaces()).some((own) =>
    own?.some((each) => each.address === address),
  );
}
