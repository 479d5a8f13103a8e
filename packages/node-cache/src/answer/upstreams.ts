import { type Log, readTlsCa } from '@kube-dns/daemon';
import { type LoopDetector, noteHealth, ServerStatistics } from '@kube-dns/resolver';
import {
  isOwnAddress,
  type ServerAddress,
  type UdpEngine,
  type UpstreamServer,
  UpstreamServers,
  UpstreamSockets,
} from '@kube-dns/transport';
import { DURATION_BOUNDS } from './zone-counters.js';

const EXIT_BAD_FILE = 1;

export interface UpstreamsOptions {
  readonly engine: UdpEngine;
  /** Where this process listens: it must not forward to itself. */
  readonly ownAddresses: () => readonly ServerAddress[];
  /** Servers that forward to this process are not asked. */
  readonly loops: Pick<LoopDetector, 'isLooping'>;
  /** A server replies again after it was down. */
  readonly onBack: (server: UpstreamServer) => void;
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
    const own = this.#options.ownAddresses();
    return addresses
      .filter((address) => !own.some((each) => isOwnAddress(address, each)))
      .filter(({ address, port }) => !this.#options.loops.isLooping({ address, port }))
      .map((address) => servers.at(address));
  }

  /** Those that are asked now. */
  *all(): Generator<UpstreamServer> {
    for (const servers of this.#byAuthorities.values()) yield* servers.all;
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
    const known = this.#byAuthorities.get(key);
    if (known !== undefined) return known;
    const { log, onBack } = this.#options;
    // Which counts stay is decided for all authorities together.
    const counters = {
      of: (text: string) => this.statistics.of(text),
      retain: () => undefined,
    };
    const servers = new UpstreamServers(this.#sockets, counters, {
      tlsCa: authorities,
      onTlsFailure: ({ text }, why) => log.warn(`nameserver ${text}: ${why.text}`),
      onHealthChange: (server) => {
        noteHealth(server, this.statistics, log);
        if (!server.health.isDown) onBack(server);
      },
    });
    this.#byAuthorities.set(key, servers);
    return servers;
  }
}
