import {
  type ServerAddress,
  type ServerSockets,
  serverText,
  type UpstreamEnd,
  type UpstreamSockets,
} from '@kube-dns/transport';
import { type ServerCounts, ServerStatistics } from './server-statistics.js';

/** A server as it is configured: where it is, and from where it is asked. */
export interface ServerSource {
  readonly address?: string;
  readonly port?: number;
}

/** A server that can be asked; one object per address, port and source, whatever its domains. */
export interface UpstreamServer extends ServerAddress {
  /** `ADDRESS#PORT`. */
  readonly text: string;
  readonly sockets: ServerSockets;
  readonly counts: ServerCounts;
}

/** The servers of all domains, with their sockets and counts; both outlive a change of configuration. */
export class UpstreamServers {
  readonly statistics = new ServerStatistics();
  readonly #sockets: UpstreamSockets;
  #servers = new Map<string, UpstreamServer>();

  constructor(sockets: UpstreamSockets) {
    this.#sockets = sockets;
  }

  /** The server at an address. */
  at(address: ServerAddress, source: ServerSource = {}): UpstreamServer {
    const text = serverText(address);
    const key = `${text} ${source.address} ${source.port}`;
    const known = this.#servers.get(key);
    if (known !== undefined) return known;
    const end: UpstreamEnd = {
      server: address,
      ...(source.address !== undefined && { sourceAddress: source.address }),
      ...(source.port !== undefined && { sourcePort: source.port }),
    };
    const { address: host, port } = address;
    const server: UpstreamServer = {
      address: host,
      port,
      text,
      sockets: this.#sockets.towards(end),
      counts: this.statistics.of(text),
    };
    this.#servers.set(key, server);
    return server;
  }

  /** Forgets every server but these, in the order in which they are to be shown. */
  keep(servers: Iterable<UpstreamServer>): void {
    const kept = new Set(servers);
    this.statistics.keep(new Set([...kept].map(({ text }) => text)));
    for (const [key, server] of this.#servers) {
      if (kept.has(server)) continue;
      server.sockets.close();
      this.#servers.delete(key);
    }
  }
}
