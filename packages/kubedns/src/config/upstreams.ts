import { readFileSync } from 'node:fs';
import {
  type DnsConfig,
  errorText,
  isIpAddress,
  type Log,
  parseNameServer,
} from '@kube-dns/daemon';
import {
  type HostPace,
  isOwnAddress,
  parseResolvConf,
  GroupLoad,
  type ServerAddress,
  ServerGroup,
  ServerHosts,
  serverText,
  type UpstreamServers,
} from '@kube-dns/transport';
import { encodeKey, NameTable } from '@kube-dns/wire';
import type { ZoneHost } from '../answer/zone-hosts.js';
import { OwnHosts } from './own-hosts.js';

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
  /** The address that this server listens on: a question must not be forwarded to it. */
  readonly ownAddress?: () => ServerAddress | undefined;
  readonly resolvConf?: string;
  readonly pace?: Partial<HostPace>;
}

/** The servers of a stub domain: as configured, and with the addresses resolved so far. */
interface StubDomain {
  readonly domain: string;
  readonly texts: readonly string[];
  group: ServerGroup;
}

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
  #default: ServerGroup;
  #stubs = new NameTable<StubDomain>();
  #config: DnsConfig | undefined;

  constructor(options: UpstreamsOptions) {
    this.#options = options;
    this.#default = this.#groupOf(EVERY_NAME, []);
    this.#ownHosts = new OwnHosts(options.resolveOwn, options.log);
    this.#hosts = new ServerHosts({
      log: options.log,
      sockets: options.servers.sockets,
      serversFor: () => this.#default.servers,
      onChange: () => this.#fillStubs(),
      ...(options.pace && { pace: options.pace }),
    });
  }

  /** Replaces the configuration; questions in flight stay with their servers. */
  apply(config: DnsConfig): void {
    this.#config = config;
    this.#stubs = this.#stubTable(config);
    const configured = config.upstreamNameservers.map(parseServer);
    const servers =
      configured.length > 0
        ? this.#usable('upstreamNameservers', configured)
        : this.#usable(this.#resolvConf, this.#readResolvConf());
    this.#default = this.#groupOf(EVERY_NAME, servers);
    const { log } = this.#options;
    log.info(`name servers: ${servers.map(serverText).join(', ') || 'none'}`);
    this.#ownHosts.follow(hostsOf(this.#stubs).filter((host) => this.#isInZone(host)));
    this.#followOthers();
    this.#fillStubs();
    for (const [, { domain, texts }] of this.#stubs.entries()) {
      log.verbose(2, `name servers for ${domain}: ${texts.join(', ')}`);
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
  groupFor(name: Uint8Array, length: number): ServerGroup {
    if (this.#stubs.size === 0) return this.#default;
    for (let at = 0; at < length; at += name[at]! + 1) {
      const stub = this.#stubs.get(name, at, length);
      if (stub !== undefined) return stub.group;
    }
    return this.#default;
  }

  /** Stops resolving names of servers, and probing servers that are down; may be called twice. */
  close(): void {
    this.#hosts.close();
    this.#options.servers.close();
  }

  /** A service of the zone, `namespace/name`, has changed: servers of stub domains may be there. */
  serviceChanged(key: string): void {
    const { targets } = this.#ownHosts;
    if (!this.#ownHosts.serviceChanged(key)) return;
    if (targets.join() !== this.#ownHosts.targets.join()) this.#followOthers();
    this.#fillStubs();
  }

  /** The number of known servers of each stub domain. */
  *stubServers(): Iterable<[domain: string, servers: number]> {
    for (const [, { domain, group }] of this.#stubs.entries()) yield [domain, group.servers.length];
  }

  #isInZone(host: string): boolean {
    return `.${host}.`.endsWith(`.${this.#options.domain}`);
  }

  /** Follows the names that name servers resolve. */
  #followOthers(): void {
    const others = hostsOf(this.#stubs).filter((host) => !this.#isInZone(host));
    this.#hosts.follow(new Set([...others, ...this.#ownHosts.targets]));
  }

  #addressesOf(host: string): readonly string[] {
    if (isIpAddress(host)) return [host];
    const own = this.#ownHosts.get(host);
    if (own === undefined) return this.#hosts.addressesOf(host);
    return own.target === undefined ? own.addresses : this.#hosts.addressesOf(own.target);
  }

  #fillStubs(): void {
    for (const [, stub] of this.#stubs.entries()) {
      const servers = stub.texts
        .map(parseServer)
        .flatMap(({ address, port }) =>
          this.#addressesOf(address).map((each) => ({ address: each, port })),
        );
      stub.group = this.#groupOf(stub.domain, this.#usable(`stubDomains: ${stub.domain}`, servers));
    }
    const stubs = [...this.#stubs.entries()];
    const groups = [this.#default, ...stubs.map(([, { group }]) => group)];
    this.#options.servers.retain(groups.flatMap(({ servers }) => servers));
    this.#options.onChange?.();
  }

  /** Servers are asked in the configured order. */
  #groupOf(domain: string, servers: readonly ServerAddress[]): ServerGroup {
    const all = servers.map((server) => this.#options.servers.at(server));
    return new ServerGroup(domain, all, 'strict', this.#load);
  }

  /** Leaves out servers without a port, this server itself, and duplicates. */
  #usable(key: string, servers: readonly ServerAddress[]): readonly ServerAddress[] {
    const { log, ownAddress } = this.#options;
    const self = ownAddress?.();
    const usable = new Map<string, ServerAddress>();
    for (const server of servers) {
      const text = serverText(server);
      if (server.port === 0) log.warn(`${key}: ${text} has no port to ask; left out`);
      else if (self !== undefined && isOwnAddress(server, self)) {
        log.warn(`${key}: ${text} is this server itself; left out`);
      } else usable.set(text, server);
    }
    return [...usable.values()];
  }

  /** A domain with an empty list counts as absent (kubernetes/dns pkg/dnsmasq/nanny.go, Configure). */
  #stubTable({ stubDomains }: DnsConfig): NameTable<StubDomain> {
    const table = new NameTable<StubDomain>();
    for (const [domain, texts] of stubDomains) {
      if (texts.length === 0) continue;
      table.set(encodeKey(domain), { domain, texts, group: this.#groupOf(domain, []) });
    }
    return table;
  }

  get #resolvConf(): string {
    return this.#options.resolvConf ?? RESOLV_CONF;
  }

  #readResolvConf(): ServerAddress[] {
    try {
      return parseResolvConf(readFileSync(this.#resolvConf, 'utf8'));
    } catch (error) {
      this.#options.log.warn(`${this.#resolvConf}: ${errorText(error)}; no name servers`);
      return [];
    }
  }
}

/** The names of servers. */
function hostsOf(stubs: NameTable<StubDomain>): readonly string[] {
  const servers = [...stubs.entries()].flatMap(([, { texts }]) => texts.map(parseServer));
  const addresses = new Set(servers.map(({ address }) => address));
  return [...addresses].filter((address) => !isIpAddress(address));
}

/** Parses a server of a valid configuration; `address` may be a host name. */
function parseServer(text: string): ServerAddress {
  const { host, port } = parseNameServer(text);
  return { address: host, port: port ?? DEFAULT_PORT };
}
