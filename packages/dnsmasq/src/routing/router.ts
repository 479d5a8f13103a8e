import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { atOnce } from '@kube-dns/base';
import { type DnsConfig, EMPTY_DNS_CONFIG, type Log } from '@kube-dns/daemon';
import { groupOf, LoopDetector } from '@kube-dns/resolver';
import {
  type HostPace,
  isOwnAddress,
  type ServerAddress,
  type ServerGroup,
  ServerHosts,
  type ServerOrder,
  type ServerSource,
  serverText,
  type UpstreamServer,
  type UpstreamServers,
} from '@kube-dns/transport';
import { encodeKey, equalNames, ROOT_NAME } from '@kube-dns/wire';
import type { ResolvFiles } from '../config/resolv-files.js';
import { changedDomains, configuredRules, type ConfiguredRules } from '../config/server-rules.js';
import type { ServersFile } from '../config/servers-file.js';
import { type GivenOptions, optionText } from '../options/given-options.js';
import type {
  RouteTarget,
  ServerRule,
  ServerSource as ConfiguredSource,
} from '../options/server-value.js';
import { domainTexts, type RoutedServer, Routes } from './routes.js';

/** Is notified of what the router reads and builds. */
export interface RouterEvents {
  /** Every active rule was read; each server of the resolv file is a rule for every name. */
  onRulesRead(rules: readonly ServerRule[]): void;
  /** The routes were built again; queries in flight use the old ones. */
  onRoutesChanged(): void;
  /** The configured servers of these domains (in wire form) changed. */
  onDomainsChanged(domains: readonly Uint8Array[]): void;
  /** A resolv file that names servers changed and was read. */
  onResolvFileChanged(): void;
}

export const NO_ROUTER_EVENTS: RouterEvents = {
  onRulesRead: () => undefined,
  onRoutesChanged: () => undefined,
  onDomainsChanged: () => undefined,
  onResolvFileChanged: () => undefined,
};

export interface RouterOptions {
  /** The rules of the command line. */
  readonly rules: readonly ServerRule[];
  /** The options that made them. */
  readonly given?: GivenOptions;
  /** Undefined when no resolv file is read. */
  readonly resolvFiles?: ResolvFiles | undefined;
  readonly serversFile?: ServersFile | undefined;
  readonly upstreams: UpstreamServers;
  /** How groups choose among their servers; dnsmasq's preferred server unless said otherwise. */
  readonly order?: ServerOrder;
  readonly log: Log;
  /** The addresses that this server listens on: it must not forward to itself. */
  readonly own?: { readonly ownAddresses: readonly ServerAddress[] };
  /** The server that resolves server names of the cluster (`-kubednsServer`). */
  readonly kubednsServer?: ServerAddress | undefined;
  readonly hostPace?: Partial<HostPace>;
}

/** So many servers are made, or the answers of so many domains dropped, before other events may get their turn. */
const STEP_SERVERS = 64;
const STEP_DOMAINS = 128;

/**
 * Builds the routes from their sources and rebuilds them on each change: the command line, the ConfigMap,
 * files, the addresses of servers given by name, and the loop detector. Queries in flight stay with their
 * servers; servers and groups that remain configured retain their state.
 */
export class Router {
  readonly loops: LoopDetector;
  readonly #options: RouterOptions;
  #events = NO_ROUTER_EVENTS;
  readonly #hosts: ServerHosts;
  /** Those of the command line alone. */
  readonly #givenRoutes: Routes;
  #config: DnsConfig = EMPTY_DNS_CONFIG;
  #configured: ConfiguredRules = configuredRules(EMPTY_DNS_CONFIG);
  #rules: readonly ServerRule[] = [];
  #resolvServers: readonly ServerAddress[] = [];
  #routes = new Routes({ rules: [], resolvServers: [] });
  #groups = new Map<string, ServerGroup>();
  #sources: ReadonlyMap<string, readonly RuleSource[]> | undefined;
  #isLoaded = false;
  #isProbing = false;
  #isClosed = false;

  constructor(options: RouterOptions) {
    this.#options = options;
    this.#givenRoutes = new Routes({ rules: options.rules, resolvServers: [] });
    this.loops = new LoopDetector(options.log);
    this.loops.listen(() => this.#build());
    this.#hosts = new ServerHosts({
      log: options.log,
      sockets: options.upstreams.sockets,
      tlsCa: options.upstreams.tlsCa,
      serversFor: (host) => this.#serversForHost(host),
      onChange: () => this.#build(),
      ...(options.hostPace && { pace: options.hostPace }),
    });
  }

  /** Notifies of what is read and built from now on. */
  listen(events: RouterEvents): void {
    this.#events = events;
  }

  get routes(): Routes {
    return this.#routes;
  }

  /** The ConfigMap that is active. */
  get configured(): DnsConfig {
    return this.#config;
  }

  /** The rules that routes were made of, by their domains, and where each is from; made when it is asked for. */
  get sources(): ReadonlyMap<string, readonly RuleSource[]> {
    return (this.#sources ??= this.#readSources());
  }

  /** By the domains of their rules, the names of servers of which no address is known; read when it is asked for. */
  get unresolvedHosts(): ReadonlyMap<string, readonly string[]> {
    const unresolved = new Map<string, string[]>();
    for (const rule of this.#rules) {
      const { target } = rule;
      if (target.kind !== 'named-server') continue;
      const { host } = target.server;
      if (this.#hosts.addressesOf(host).length > 0) continue;
      for (const domain of domainTexts(rule)) {
        const known = unresolved.get(domain);
        if (known === undefined) unresolved.set(domain, [host]);
        else if (!known.includes(host)) known.push(host);
      }
    }
    return unresolved;
  }

  #readSources(): ReadonlyMap<string, readonly RuleSource[]> {
    const { given, serversFile, resolvFiles } = this.#options;
    const options = [given, serversFile?.given].filter((each) => each !== undefined);
    const sources = new Map<string, RuleSource[]>();
    const note = (domain: string, source: RuleSource) => {
      const known = sources.get(domain);
      if (known === undefined) sources.set(domain, [source]);
      else known.push(source);
    };
    for (const rule of this.#rules) {
      for (const domain of domainTexts(rule)) note(domain, ruleSource(rule, domain, options));
    }
    const place = resolvFiles?.path ?? '';
    for (const server of this.#resolvServers) note('.', { rule: serverText(server), place });
    return sources;
  }

  /** As `configuring`, without a pause. */
  configure(config: DnsConfig): void {
    atOnce(this.configuring(config));
  }

  /**
   * Applies the ConfigMap, immediately when the routes are loaded, in steps: the old routes are in force until the new
   * ones are whole. Throws for an invalid one; the last good one stays active.
   */
  *configuring(config: DnsConfig): Generator<void, void> {
    const configured = configuredRules(config);
    const changed = changedDomains(this.#config, config);
    // New servers take most of the time.
    for (const [i, { target }] of configured.rules.entries()) {
      if (target.kind === 'server') this.#upstreamAt(target.server, target.source);
      if ((i + 1) % STEP_SERVERS === 0) yield;
    }
    if (this.#isClosed) return;
    this.#config = config;
    this.#configured = configured;
    if (!this.#isLoaded) return;
    this.load();
    for (let at = 0; at < changed.length; at += STEP_DOMAINS) {
      if (at > 0 || changed.length > STEP_DOMAINS) yield;
      this.#events.onDomainsChanged(changed.slice(at, at + STEP_DOMAINS));
    }
  }

  /** Reads every source again and activates the new routes. */
  load(): void {
    const { resolvFiles, serversFile } = this.#options;
    const { rules, usesResolvFile } = this.#configured;
    this.#rules = [...this.#options.rules, ...(serversFile?.read() ?? []), ...rules];
    this.#resolvServers = usesResolvFile ? (resolvFiles?.read() ?? []) : [];
    this.#isLoaded = true;
    this.#sources = undefined;
    const everyName = this.#resolvServers.map(ruleOfEveryName);
    this.#events.onRulesRead([...this.#rules, ...everyName]);
    this.loops.reset();
    this.#build();
    this.#list();
    this.#hosts.follow(hostsOf(this.#rules));
    if (this.#isProbing) this.#probe();
  }

  /** Follows changes of the resolv files; cached answers stay. */
  followResolvFiles(): void {
    this.#options.resolvFiles?.follow(() => {
      if (!this.#configured.usesResolvFile) return;
      this.load();
      if (this.#resolvServers.length > 0) this.#events.onResolvFileChanged();
    });
  }

  /** Probes the default servers for loops, now and after each load. To be called once probes can arrive. */
  startProbing(): void {
    this.#isProbing = true;
    this.#probe();
  }

  close(): void {
    this.#isClosed = true;
    this.#options.resolvFiles?.close();
    this.#hosts.close();
    this.loops.close();
    this.#options.upstreams.close();
  }

  #probe(): void {
    const servers = this.#routes.defaultServers.map(({ server }) => server);
    // Probes are plain text, which an encrypted server never gets.
    this.loops.probe(servers.filter(({ encryption }) => encryption === undefined));
  }

  #build(): void {
    const groups = new Map<string, ServerGroup>();
    const rules = this.#rules.filter((rule) => !this.#isDropped(rule));
    this.#routes = new Routes({
      rules,
      resolvServers: this.#resolvServers.filter((server) => !this.#isOwn(server)),
      isUsable: (server) => !this.loops.isLooping(server),
      addressesOf: (host) => this.#hosts.addressesOf(host),
      groupOf: (domain, servers) => this.#groupOf(domain, servers, groups),
    });
    this.#groups = groups;
    this.#options.upstreams.retain(this.#serversOf(this.#routes, rules));
    this.#events.onRoutesChanged();
  }

  /** The existing group when its servers are the same: it has measured which one is good. */
  #groupOf(
    domain: string,
    routed: readonly RoutedServer[],
    groups: Map<string, ServerGroup>,
  ): ServerGroup {
    const servers = routed.map(({ server, source }) => this.#upstreamAt(server, source));
    const order = this.#options.order ?? 'preferred';
    const group = groupOf(this.#groups.get(domain), domain, servers, order);
    groups.set(domain, group);
    return group;
  }

  #upstreamAt(server: ServerAddress, source: RoutedServer['source']): UpstreamServer {
    return this.#options.upstreams.at(server, sourceOf(server.address, source));
  }

  /**
   * Every server in use, including those that are not asked because of a loop; in the order in which
   * dnsmasq lists them.
   */
  *#serversOf(
    { routes, defaultServers }: Routes,
    rules: readonly ServerRule[],
  ): Generator<UpstreamServer> {
    for (const { target } of rules) {
      if (target.kind !== 'server') continue;
      yield this.#upstreamAt(target.server, target.source);
    }
    for (const { server, source } of defaultServers) yield this.#upstreamAt(server, source);
    for (const { group } of routes) yield* group?.servers ?? [];
  }

  #isDropped({ target }: ServerRule): boolean {
    return target.kind === 'server' && this.#isOwn(target.server);
  }

  #isOwn(server: ServerAddress): boolean {
    // dnsmasq drops it, too (src/network.c, check_servers).
    if (server.address === '0.0.0.0') return true;
    return isOwnAddress(server, this.#options.own?.ownAddresses ?? []);
  }

  /** The servers that resolve a server's name: kubedns for its own names, the default servers for others. */
  #serversForHost(host: string): readonly ServerAddress[] {
    const { kubednsServer } = this.#options;
    if (kubednsServer !== undefined && this.#isResolvedBy(kubednsServer, host)) {
      return [kubednsServer];
    }
    return this.#routes.routes[0]?.servers ?? [];
  }

  /**
   * Whether kubedns resolves a name: those of `cluster.local`, and those of the domains that the command line routes
   * to it, so that a cluster may have any domain.
   */
  #isResolvedBy(kubedns: ServerAddress, host: string): boolean {
    if (isInClusterLocal(host)) return true;
    const name = encodeKey(host);
    const { domain, servers } = this.#givenRoutes.find({ name, nameLength: name.length });
    const text = serverText(kubedns);
    // As a default server kubedns is one of several; that assigns no domain to it.
    return domain !== '.' && servers.some((server) => serverText(server) === text);
  }

  #list(): void {
    const { log } = this.#options;
    for (const { target } of this.#rules) this.#listDropped(target);
    for (const server of this.#resolvServers) this.#listDropped({ kind: 'server', server });
    const lines = routeLines(this.#routes);
    for (const line of lines) log.info(line);
    if (lines.length === 0) log.warn('warning: no upstream servers configured');
    this.#warnOfShared();
  }

  /** A stub domain that the command line has too, as that of the cluster: as in the original, any of the servers may answer. */
  #warnOfShared(): void {
    for (const [domain, { length }] of this.#config.stubDomains) {
      const name = encodeKey(domain);
      const given = this.#givenRoutes.find({ name, nameLength: name.length });
      if (length === 0 || given.servers.length === 0 || given.domain === '.') continue;
      if (!equalNames(encodeKey(given.domain), name)) continue;
      this.#options.log.warn(`stubDomains ${domain}: the command line has servers for it as well, and any of them may answer`); // prettier-ignore
    }
  }

  #listDropped(target: ServerRule['target']): void {
    if (target.kind !== 'server' || target.server.address === '0.0.0.0') return;
    if (!this.#isOwn(target.server)) return;
    const text = serverText(target.server);
    this.#options.log.warn(`ignoring nameserver ${text} - local interface`);
  }
}

function ruleOfEveryName(server: ServerAddress): ServerRule {
  return { domains: [ROOT_NAME], target: { kind: 'server', server } };
}

/** How many servers and local domains are listed (dnsmasq src/config.h, SERVERS_LOGGED, LOCALS_LOGGED). */
const MAX_SERVERS = 30;
const MAX_LOCALS = 8;

/** dnsmasq's log lines about servers and domains (src/network.c, check_servers). */
function routeLines({ routes, defaultServers, defaultDomains }: Routes): string[] {
  const servers: string[] = [];
  const devices = new Map(defaultServers.map(({ server, source }) => [server, deviceText(source)]));
  const locals = defaultDomains.map((domain) => `using standard nameservers for ${about(domain)}`);
  for (const route of routes) {
    const suffix = ` for ${about(route.domain, 'domain ')}`;
    for (const server of route.servers) {
      // dnsmasq shows the device for the default servers alone.
      const detail = route.domain === '.' ? devices.get(server)! : suffix;
      servers.push(`using nameserver ${serverText(server)}${detail}`);
    }
    if (route.isLocal) locals.push(`using only locally-known addresses for ${about(route.domain)}`);
  }
  const lines = [...servers.slice(0, MAX_SERVERS), ...locals.slice(0, MAX_LOCALS)];
  const [more, moreLocals] = [servers.length - MAX_SERVERS, locals.length - MAX_LOCALS];
  if (more > 0) lines.push(`using ${more} more nameservers`);
  if (moreLocals > 0) lines.push(`using ${moreLocals} more local addresses`);
  return lines;
}

function deviceText(source: ConfiguredSource | undefined): string {
  return source?.interface === undefined ? '' : `(via ${source.interface})`;
}

function about(domain: string, word = ''): string {
  return domain === '' ? 'unqualified names' : `${word}${domain}`;
}

/** kubernetes/dns pkg/dnsmasq/nanny.go compares with this text, whatever the cluster's domain is. */
const CLUSTER_SUFFIX = 'cluster.local';

/** The names of servers that rules have in place of an address. */
function hostsOf(rules: readonly ServerRule[]): ReadonlySet<string> {
  const hosts = rules.flatMap(({ target }) =>
    target.kind === 'named-server' ? [target.server.host] : [],
  );
  return new Set(hosts);
}

function isInClusterLocal(host: string): boolean {
  return `.${host.toLowerCase().replace(/\.$/, '')}`.endsWith(`.${CLUSTER_SUFFIX}`);
}

/**
 * The source of queries to a server. For an interface it is the first address of the server's family:
 * Node cannot bind to a device, nor can a container without NET_RAW. Without such an address it is the name
 * of the interface, from which nothing can be sent, rather than any other address.
 */
function sourceOf(server: string, source: ConfiguredSource | undefined): ServerSource {
  if (source === undefined) return {};
  const { address = addressOf(source.interface, isIPv6(server)), port } = source;
  return { ...(address !== undefined && { address }), ...(port !== undefined && { port }) };
}

function addressOf(device: string | undefined, isIpv6: boolean): string | undefined {
  if (device === undefined) return undefined;
  const addresses = networkInterfaces()[device] ?? [];
  return addresses.find(({ family }) => (family === 'IPv6') === isIpv6)?.address ?? device;
}

/** A rule of a route, and where it is from. */
export interface RuleSource {
  /** As it is written: `--server=/corp.example/10.0.0.1`; of a file or the ConfigMap, its server. */
  readonly rule: string;
  /** `the command line`, `line 3 of FILE`, `stubDomains of the ConfigMap`. */
  readonly place: string;
}

/** Where a rule for a domain (presentation text) is from; `given` are the options of all sources that have options. */
function ruleSource(rule: ServerRule, domain: string, given: readonly GivenOptions[]): RuleSource {
  for (const options of given) {
    const option = options.of(rule);
    if (option !== undefined) return { rule: optionText(option), place: option.place };
  }
  const key = domain === '.' ? 'upstreamNameservers' : 'stubDomains';
  return { rule: targetText(rule.target), place: `${key} of the ConfigMap` };
}

/** A target as `--server` has it. */
function targetText(target: RouteTarget): string {
  switch (target.kind) {
    case 'server':
      return serverText(target.server);
    case 'named-server':
      return serverText({ ...target.server, address: target.server.host });
    case 'default':
      return '#';
    case 'local':
      return '';
  }
}
