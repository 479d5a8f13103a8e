import { isIP } from 'node:net';
import { atOnce, errorText, type Trace, TraceKind } from '@kube-dns/base';
import { type DnsConfig, type Log, parseNameServer, readTextFile } from '@kube-dns/daemon';
import {
  type HostPace,
  isOwnAddress,
  parseResolvConf,
  GroupLoad,
  type ServerAddress,
  ServerGroup,
  ServerHosts,
  serverKey,
  serverText,
  type UpstreamServer,
  type UpstreamServers,
} from '@kube-dns/transport';
import { encodeKey, NameTable } from '@kube-dns/wire';
import type { ZoneHost } from '../answer/zone-hosts.js';

export interface UpstreamsOptions {
  readonly log: Log;
  /** All upstream servers, with their sockets and counts. */
  readonly servers: UpstreamServers;
  /** Called when the servers have changed; questions in flight stay with their servers. */
  readonly onChange?: () => void;
  /** Zone of the cluster with its final dot: names of servers in it are resolved by `resolveOwn`. */
  readonly domain: string;
  /** What a name of the zone leads to now. */
  readonly resolveOwn: (host: string) => ZoneHost;
  /** Where this server listens: a question must not be forwarded there. */
  readonly own?: { readonly ownAddresses: readonly ServerAddress[] };
  readonly resolvConf?: string;
  readonly pace?: Partial<HostPace>;
}

/** The servers of a domain: as configured, and with the addresses resolved so far. */
interface DomainServers {
  readonly domain: string;
  /** What named them, for the log. */
  readonly key: string;
  /** An `address` may be a host name. */
  readonly servers: readonly ServerAddress[];
  readonly hasNames: boolean;
  group: ServerGroup;
}

/** What decides which servers a name goes to. */
export interface ServerRule {
  /** `.` for every name without a stub domain. */
  readonly domain: string;
  /** `stubDomains: DOMAIN`, `upstreamNameservers`, or the path of resolv.conf. */
  readonly key: string;
  /** As they are configured: some may be names. */
  readonly configured: readonly string[];
  /** With their addresses as far as these are known. */
  readonly used: readonly UpstreamServer[];
}

/** Which servers a name goes to. */
export const ROUTED = new TraceKind<ServerRule>();

/** So many stub domains are made ready before other events may get their turn. */
const STEP_DOMAINS = 64;
const RESOLV_CONF = '/etc/resolv.conf';
const DEFAULT_PORT = 53;
/** The domain of the default servers. */
const EVERY_NAME = '.';

/**
 * The name servers for names outside the cluster: those of the longest matching stub domain, else the
 * default ones. The default ones are configured, or read from resolv.conf when a configuration is applied.
 */
export class Upstreams {
  readonly #options: UpstreamsOptions;
  readonly #hosts: ServerHosts;
  readonly #ownHosts: OwnHosts;
  /** One limit of questions in flight for all domains together. */
  readonly #load = new GroupLoad();
  readonly #noServers: ServerGroup;
  #default: DomainServers;
  /** In the order of the configuration, and by their names. */
  #stubs: readonly DomainServers[] = [];
  #stubTable = new NameTable<DomainServers>();
  /** Of the configuration that is being made ready. */
  #nextStubs: readonly DomainServers[] = [];
  #config: DnsConfig | undefined;
  #isClosed = false;

  constructor(options: UpstreamsOptions) {
    this.#options = options;
    this.#noServers = this.#groupOf(EVERY_NAME, []);
    this.#default = this.#domain(EVERY_NAME, this.#resolvConf, []);
    this.#ownHosts = new OwnHosts(options.resolveOwn, options.log);
    this.#hosts = new ServerHosts({
      log: options.log,
      sockets: options.servers.sockets,
      tlsCa: options.servers.tlsCa,
      serversFor: () => this.#default.group.servers,
      onChange: () => this.#fillNamed(),
      ...(options.pace && { pace: options.pace }),
    });
  }

  /** As `applying`, without a pause. */
  apply(config: DnsConfig): void {
    atOnce(this.applying(config));
  }

  /**
   * Replaces the configuration: makes the new one ready in steps, between which the old one is in force. Questions in
   * flight stay with their servers.
   */
  *applying(config: DnsConfig): Generator<void, void> {
    const table = new NameTable<DomainServers>();
    const stubs: DomainServers[] = [];
    this.#nextStubs = stubs;
    for (const [domain, texts] of config.stubDomains) {
      // It counts as absent (kubernetes/dns pkg/dnsmasq/nanny.go, Configure).
      if (texts.length === 0) continue;
      const stub = this.#domain(domain, `stubDomains: ${domain}`, texts.map(parseServer));
      if (!stub.hasNames) stub.group = this.#groupOf(domain, this.#usable(stub.key, stub.servers));
      table.set(encodeKey(domain), stub);
      if (stubs.push(stub) % STEP_DOMAINS === 0) yield;
    }
    if (this.#isClosed) return;
    this.#stubs = stubs;
    this.#stubTable = table;
    this.#nextStubs = [];
    this.#activate(config);
  }

  #activate(config: DnsConfig): void {
    this.#config = config;
    const configured = config.upstreamNameservers.map(parseServer);
    this.#default =
      configured.length > 0
        ? this.#domain(EVERY_NAME, 'upstreamNameservers', configured)
        : this.#domain(EVERY_NAME, this.#resolvConf, this.#readResolvConf());
    const servers = this.#usable(this.#default.key, this.#default.servers);
    const { log } = this.#options;
    log.info(`name servers: ${servers.map(serverText).join(', ') || 'none'}`);
    this.#ownHosts.follow(this.#namesOfServers().filter((host) => this.#isInZone(host)));
    this.#default.group = this.#groupOf(EVERY_NAME, this.#resolved(servers));
    this.#followOthers();
    this.#fill(this.#stubs.filter(({ hasNames }) => hasNames));
    for (const [domain, texts] of config.stubDomains) {
      if (texts.length === 0)
        log.info(`stubDomains: ${domain} has no servers: it counts as absent`);
      else log.verbose(2, `name servers for ${domain}: ${texts.join(', ')}`);
    }
  }

  /** Reads resolv.conf again, where it is used, and resolves the names of servers again. */
  refresh(): void {
    if (this.#config !== undefined) this.apply(this.#config);
  }

  /**
   * The servers for a lower-cased name in wire form, the first `length` bytes of `name`; a group without
   * servers for a stub domain of which no server is resolved yet. Allocates nothing.
   */
  groupFor(name: Uint8Array, length: number, trace?: Trace): ServerGroup {
    const servers = this.#serversFor(name, length);
    trace?.note(ROUTED, ruleOf(servers));
    return servers.group;
  }

  /** The servers of every other name, then those of stub domains. */
  get groups(): readonly ServerGroup[] {
    return [this.#default, ...this.#stubs].map(({ group }) => group);
  }

  /** Stops resolving names of servers, and probing servers that are down; may be called twice. */
  close(): void {
    this.#isClosed = true;
    this.#hosts.close();
    this.#options.servers.close();
  }

  /** A service of the zone, `namespace/name`, has changed: servers of stub domains may be there. */
  serviceChanged(key: string): void {
    const { targets } = this.#ownHosts;
    if (!this.#ownHosts.serviceChanged(key)) return;
    if (targets.join() !== this.#ownHosts.targets.join()) this.#followOthers();
    this.#fillNamed();
  }

  /** The number of known servers of each stub domain. */
  *stubServers(): Iterable<[domain: string, servers: number]> {
    for (const { domain, group } of this.#stubs) yield [domain, group.servers.length];
  }

  #serversFor(name: Uint8Array, length: number): DomainServers {
    return this.#stubTable.findSuffix(name, length) ?? this.#default;
  }

  #isInZone(host: string): boolean {
    return `.${host}.`.endsWith(`.${this.#options.domain}`);
  }

  /** Follows the names that name servers resolve. */
  #followOthers(): void {
    const others = this.#namesOfServers().filter((host) => !this.#isInZone(host));
    this.#hosts.follow(new Set([...others, ...this.#ownHosts.targets]));
  }

  #addressesOf(host: string): readonly string[] {
    if (!isName(host)) return [host];
    const own = this.#ownHosts.get(host);
    if (own === undefined) return this.#hosts.addressesOf(host);
    return own.target === undefined ? own.addresses : this.#hosts.addressesOf(own.target);
  }

  /** The servers that have names may be elsewhere now. */
  #fillNamed(): void {
    this.#fill(this.#named());
  }

  #fill(domains: readonly DomainServers[]): void {
    for (const each of domains) {
      each.group = this.#groupOf(each.domain, this.#usable(each.key, this.#resolved(each.servers)));
    }
    const next = this.#nextStubs.map(({ group }) => group);
    this.#options.servers.retain([...this.groups, ...next].flatMap(({ servers }) => servers));
    this.#options.onChange?.();
  }

  #named(): readonly DomainServers[] {
    return [this.#default, ...this.#stubs].filter(({ hasNames }) => hasNames);
  }

  #resolved(servers: readonly ServerAddress[]): readonly ServerAddress[] {
    return servers.flatMap((server) =>
      this.#addressesOf(server.address).map((address) => ({ ...server, address })),
    );
  }

  /** Servers are asked in the configured order. */
  #groupOf(domain: string, servers: readonly ServerAddress[]): ServerGroup {
    const all = servers.map((server) => this.#options.servers.at(server));
    return new ServerGroup(domain, all, 'strict', this.#load);
  }

  /** Leaves out servers without a port, this server itself, and duplicates. */
  #usable(key: string, servers: readonly ServerAddress[]): readonly ServerAddress[] {
    const { log, own } = this.#options;
    const ownAddresses = own?.ownAddresses ?? [];
    const usable = new Map<string, ServerAddress>();
    for (const server of servers) {
      const text = serverText(server);
      if (server.port === 0) log.warn(`${key}: ${text} has no port to ask; left out`);
      else if (isOwnAddress(server, ownAddresses))
        log.warn(`${key}: ${text} is this server itself; left out`);
      else usable.set(serverKey(server), server);
    }
    return [...usable.values()];
  }

  /** Without a group of its servers yet. */
  #domain(domain: string, key: string, servers: readonly ServerAddress[]): DomainServers {
    const hasNames = servers.some(({ address }) => isName(address));
    return { domain, key, servers, hasNames, group: this.#noServers };
  }

  #namesOfServers(): readonly string[] {
    const addresses = this.#named().flatMap(({ servers }) => servers.map(({ address }) => address));
    return [...new Set(addresses)].filter(isName);
  }

  get #resolvConf(): string {
    return this.#options.resolvConf ?? RESOLV_CONF;
  }

  #readResolvConf(): ServerAddress[] {
    try {
      return parseResolvConf(readTextFile(this.#resolvConf));
    } catch (error) {
      this.#options.log.warn(`${this.#resolvConf}: ${errorText(error)}; no name servers`);
      return [];
    }
  }
}

function ruleOf({ domain, key, servers, group }: DomainServers): ServerRule {
  return { domain, key, configured: servers.map(serverText), used: group.servers };
}

/** Parses a server of a valid configuration; `address` may be a host name. */
function parseServer(text: string): ServerAddress {
  const { host, port, ...rest } = parseNameServer(text);
  return { address: host, port: port ?? DEFAULT_PORT, ...rest };
}

function isName(address: string): boolean {
  return isIP(address) === 0;
}

/**
 * The name servers that are given by names of the cluster. They are resolved from the zone, immediately and
 * again when a service changes that they depend on: there is no question and no timer.
 */
class OwnHosts {
  readonly #resolve: (host: string) => ZoneHost;
  readonly #log: Log;
  #hosts = new Map<string, ZoneHost>();

  constructor(resolve: (host: string) => ZoneHost, log: Log) {
    this.#resolve = resolve;
    this.#log = log;
  }

  /** Follows exactly these names. */
  follow(names: Iterable<string>): void {
    const before = this.#hosts;
    this.#hosts = new Map();
    for (const name of names) this.#set(name, before.get(name));
  }

  /** What a name leads to; undefined for one that is not followed. */
  get(name: string): ZoneHost | undefined {
    return this.#hosts.get(name);
  }

  /** The names outside of the zone that some of them lead to. */
  get targets(): readonly string[] {
    return [...this.#hosts.values()].flatMap(({ target }) => target ?? []);
  }

  /** A service, `namespace/name`, has changed. Returns whether one of the names leads elsewhere now. */
  serviceChanged(key: string): boolean {
    let isChanged = false;
    for (const [name, host] of this.#hosts) {
      if (host.services.includes(key) && this.#set(name, host)) isChanged = true;
    }
    return isChanged;
  }

  #set(name: string, before: ZoneHost | undefined): boolean {
    const host = this.#resolve(name);
    this.#hosts.set(name, host);
    const text = textOf(host);
    if (before !== undefined && textOf(before) === text) return false;
    this.#log.info(`the server ${name} is ${text}`);
    return true;
  }
}

function textOf({ addresses, target }: ZoneHost): string {
  if (target !== undefined) return `an alias of ${target}`;
  return addresses.length === 0 ? 'not in the cluster' : `at ${addresses.join(', ')}`;
}
