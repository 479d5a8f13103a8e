import { statSync } from 'node:fs';
import { errorText } from '@kube-dns/base';
import { type Log, readTextFile, readTlsCa } from '@kube-dns/daemon';
import { groupOf, type LoopDetector, ServerStatistics, watchedServers } from '@kube-dns/resolver';
import {
  isOwnAddress,
  parseResolvConf,
  type ServerAddress,
  type ServerGroup,
  type UdpEngine,
  type UpstreamServer,
  type UpstreamServers,
  UpstreamSockets,
} from '@kube-dns/transport';
import type { ForwardRules, ForwardTarget } from '../corefile/server-block.js';
import { DURATION_BOUNDS } from './zones.js';

const EXIT_BAD_FILE = 1;

interface UpstreamsOptions {
  readonly engine: UdpEngine;
  /** Where this process listens: it must not forward to itself. */
  readonly own: { readonly addresses: readonly ServerAddress[] };
  /** Servers that forward to this process are not asked. */
  readonly loops: LoopDetector;
  readonly subscriptions: { retry(server: ServerAddress): void };
  readonly log: Log;
}

/** The servers of all blocks, each once for each set of authorities that its certificate may be of. */
export class Upstreams {
  readonly statistics = new ServerStatistics(DURATION_BOUNDS);
  readonly #options: UpstreamsOptions;
  readonly #sockets: UpstreamSockets;
  /** By the authorities, as PEM text; empty for those of the system. */
  readonly #byAuthorities = new Map<string, UpstreamServers>();

  constructor(options: UpstreamsOptions) {
    this.#options = options;
    this.#sockets = new UpstreamSockets({ engine: options.engine });
  }

  /**
   * The servers at these addresses, without those that are this process itself. Throws a StartupError for a file of
   * authorities that is missing or broken.
   */
  at(addresses: readonly ServerAddress[], authoritiesFile: string): UpstreamServer[] {
    const servers = this.#trusting(readTlsCa(authoritiesFile, EXIT_BAD_FILE));
    const own = this.#options.own.addresses;
    return addresses
      .filter((address) => !isOwnAddress(address, own))
      .filter(({ address, port }) => !this.#options.loops.isLooping({ address, port }))
      .map((address) => servers.at(address));
  }

  /** Those that are asked now. */
  *all(): Generator<UpstreamServer> {
    for (const servers of this.#byAuthorities.values()) yield* servers.all;
  }

  /** Ports at which a reply had an ID that no question there has, or had. */
  get guessedPorts(): number {
    return this.#sockets.guessedPorts;
  }

  /** A server has said something, over another connection than those of questions. */
  noteAlive(server: ServerAddress): void {
    for (const servers of this.#byAuthorities.values()) servers.noteAlive(server);
  }

  /** Forgets every server but these. */
  retain(used: readonly UpstreamServer[]): void {
    for (const servers of this.#byAuthorities.values()) servers.retain(used);
    this.statistics.retain(new Set(used.map(({ text }) => text)));
  }

  close(): void {
    for (const servers of this.#byAuthorities.values()) servers.close();
    this.#sockets.close();
  }

  #trusting(authorities: string | undefined): UpstreamServers {
    const key = authorities ?? '';
    const existing = this.#byAuthorities.get(key);
    if (existing !== undefined) return existing;
    const { subscriptions, log } = this.#options;
    const servers = watchedServers({
      sockets: this.#sockets,
      statistics: this.statistics,
      sharesCounts: true,
      tlsCa: authorities,
      subscriptions,
      log,
    });
    this.#byAuthorities.set(key, servers);
    return servers;
  }
}

/** The servers that a block forwards to; a resolv file is read again when it changes. */
export class BlockServers {
  #group: ServerGroup | undefined;
  readonly #domains: string;
  readonly #rules: ForwardRules;
  readonly #upstreams: Upstreams;
  readonly #log: Log;
  /** What was read, by file. */
  readonly #files = new Map<string, { version: string; servers: readonly ServerAddress[] }>();

  /** `domains` are those of the group. Throws a StartupError for a bad file of authorities. */
  constructor(domains: string, rules: ForwardRules, upstreams: Upstreams, log: Log) {
    this.#domains = domains;
    this.#rules = rules;
    this.#upstreams = upstreams;
    this.#log = log;
    this.refresh();
  }

  /** Undefined while there is none. */
  get group(): ServerGroup | undefined {
    return this.#group;
  }

  /** Reads the resolv files that have changed; true when the servers are others then. */
  refresh(): boolean {
    const { targets, policy, tlsCaFile } = this.#rules;
    const addresses = targets.flatMap((target) => this.#addressesOf(target));
    const servers = this.#upstreams.at(addresses, tlsCaFile);
    const before = this.#group;
    const order = policy === 'sequential' ? 'strict' : 'preferred';
    this.#group = servers.length === 0 ? undefined : groupOf(before, this.#domains, servers, order);
    return this.#group !== before;
  }

  #addressesOf(target: ForwardTarget): readonly ServerAddress[] {
    if ('resolvFile' in target)
      return this.#read(target.resolvFile).map((each) => this.#reached(each));
    const { address, port, encryption } = target;
    return [
      encryption === undefined ? this.#reached({ address, port }) : { address, port, encryption },
    ];
  }

  #reached(address: ServerAddress): ServerAddress {
    return this.#rules.protocol === 'tcp' ? { ...address, keepsTcp: true } : address;
  }

  /** A file that cannot be read leaves the servers that it had. */
  #read(path: string): readonly ServerAddress[] {
    const existing = this.#files.get(path);
    try {
      const { mtimeMs, size, ino } = statSync(path);
      const version = `${ino} ${size} ${mtimeMs}`;
      if (existing?.version === version) return existing.servers;
      const servers = parseResolvConf(readTextFile(path));
      this.#files.set(path, { version, servers });
      if (servers.length === 0) this.#log.warn(`no servers found in ${path}, will retry`);
      return servers;
    } catch (error) {
      if (existing?.version !== '') this.#log.warn(`failed to access ${path}: ${errorText(error)}`);
      const servers = existing?.servers ?? [];
      this.#files.set(path, { version: '', servers });
      return servers;
    }
  }
}
