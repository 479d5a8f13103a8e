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

export interface UpstreamsOptions {
  readonly log: Log;
  /** The servers that can be asked, with their sockets and counts. */
  readonly servers: UpstreamServers;
  /** Called when other servers are asked than before; questions in flight keep theirs. */
  readonly onChange?: () => void;
  /** Zone of the cluster with its final dot: what names servers in it are resolved here. */
  readonly domain: string;
  /** Where this server itself listens, once it does: it must not be asked what it forwards. */
  readonly own?: () => ServerAddress | undefined;
  readonly resolvConf?: string;
  readonly pace?: Partial<HostPace>;
}

/** The servers of a stub domain: as configured, and as they can be asked now. */
interface StubDomain {
  readonly domain: string;
  readonly texts: readonly string[];
  group: ServerGroup;
}

const RESOLV_CONF = '/etc/resolv.conf';
const DEFAULT_PORT = 53;
/** Of a name below no stub domain. */
const EVERY_NAME = '.';

/**
 * Which name servers are asked for a name outside the cluster: those of the longest stub domain that
 * it is in, else the default ones. These are configured, or those that resolv.conf has at the moment
 * when a configuration is applied.
 */
export class Upstreams {
  readonly #options: UpstreamsOptions;
  readonly #hosts: ServerHosts;
  /** Questions are bounded for all domains together. */
  readonly #load = new GroupLoad();
  #default: ServerGroup;
  #stubs = new NameTable<StubDomain>();
  #config: DnsConfig | undefined;

  constructor(options: UpstreamsOptions) {
    this.#options = options;
    this.#default = this.#groupOf(EVERY_NAME, []);
    this.#hosts = new ServerHosts({
      log: options.log,
      sockets: options.servers.sockets,
      serversFor: (host) => this.#serversForHost(host),
      onChange: () => this.#fillStubs(),
      ...(options.pace && { pace: options.pace }),
    });
  }

  /** Takes a configuration in place of the last one; queries in flight keep their servers. */
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
    this.#hosts.follow(hostsOf(this.#stubs));
    this.#fillStubs();
    for (const [, { domain, texts }] of this.#stubs.entries()) {
      log.verbose(2, `name servers for ${domain}: ${texts.join(', ')}`);
    }
  }

  /** Reads resolv.conf again, where it is used, and asks for the servers that have names. */
  refresh(): void {
    if (this.#config !== undefined) this.apply(this.#config);
  }

  /**
   * The servers for a lower-cased name in wire form, the first `length` bytes of `name`; a group without
   * any for a stub domain whose servers are not known (yet). Allocates nothing.
   */
  groupFor(name: Uint8Array, length: number): ServerGroup {
    if (this.#stubs.size === 0) return this.#default;
    for (let at = 0; at < length; at += name[at]! + 1) {
      const stub = this.#stubs.get(name, at, length);
      if (stub !== undefined) return stub.group;
    }
    return this.#default;
  }

  /** Ends what is under way; may be called twice. */
  close(): void {
    this.#hosts.close();
  }

  /** A server in the cluster is known here (kubernetes/dns pkg/dnsmasq: `kubednsServer`). */
  #serversForHost(host: string): readonly ServerAddress[] {
    const own = this.#options.own?.();
    const isInZone = `.${host}.`.endsWith(`.${this.#options.domain}`);
    if (!isInZone || own === undefined) return this.#default.servers;
    return [{ address: reachable(own.address), port: own.port }];
  }

  #fillStubs(): void {
    for (const [, stub] of this.#stubs.entries()) {
      const servers = stub.texts.map(parseServer).flatMap(({ address, port }) => {
        const addresses = isIpAddress(address) ? [address] : this.#hosts.addressesOf(address);
        return addresses.map((each) => ({ address: each, port }));
      });
      stub.group = this.#groupOf(stub.domain, this.#usable(`stubDomains: ${stub.domain}`, servers));
    }
    const stubs = [...this.#stubs.entries()];
    const groups = [this.#default, ...stubs.map(([, { group }]) => group)];
    this.#options.servers.retain(groups.flatMap(({ servers }) => servers));
    this.#options.onChange?.();
  }

  /** Servers are asked in the order in which they are configured. */
  #groupOf(domain: string, servers: readonly ServerAddress[]): ServerGroup {
    const all = servers.map((server) => this.#options.servers.at(server));
    return new ServerGroup(domain, all, 'strict', this.#load);
  }

  /** Leaves out what cannot be asked or leads back here, and what is named twice. */
  #usable(key: string, servers: readonly ServerAddress[]): readonly ServerAddress[] {
    const { log, own } = this.#options;
    const self = own?.();
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

  /** A domain with an empty list is as good as not named (kubernetes/dns pkg/dnsmasq/nanny.go, Configure). */
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

function hostsOf(stubs: NameTable<StubDomain>): ReadonlySet<string> {
  const servers = [...stubs.entries()].flatMap(([, { texts }]) => texts.map(parseServer));
  return new Set(servers.map(({ address }) => address).filter((address) => !isIpAddress(address)));
}

/** A server of a configuration that was found valid; a name stands in place of its address. */
function parseServer(text: string): ServerAddress {
  const { host, port } = parseNameServer(text);
  return { address: host, port: port ?? DEFAULT_PORT };
}

function reachable(address: string): string {
  if (address === '0.0.0.0') return '127.0.0.1';
  return address === '::' ? '::1' : address;
}
