import { type ServerAddress, serverText } from '../server-address.js';
import { EdnsSupport } from './edns-support.js';
import { CaseEcho } from './name-case.js';
import type { ServerCounter, ServerCounters } from './server-counter.js';
import { ServerHealth } from './server-health.js';
import type { ServerSockets, UpstreamTarget, UpstreamSockets } from './upstream-sockets.js';

/** The source of queries to a server, where the system does not choose it. */
export interface ServerSource {
  readonly address?: string;
  readonly port?: number;
}

/** A server that can be asked; one object per address, port and source, whatever its domains. */
export interface UpstreamServer extends ServerAddress {
  /** `ADDRESS#PORT`. */
  readonly text: string;
  readonly sockets: ServerSockets;
  readonly counts: ServerCounter;
  readonly health: ServerHealth;
  readonly caseEcho: CaseEcho;
  readonly edns: EdnsSupport;
}

/** The servers of all domains, with their sockets and counts; both outlive a change of configuration. */
export class UpstreamServers {
  /** The sockets that all of them share. */
  readonly sockets: UpstreamSockets;
  readonly #counters: ServerCounters;
  #servers = new Map<string, UpstreamServer>();

  constructor(sockets: UpstreamSockets, counters: ServerCounters) {
    this.sockets = sockets;
    this.#counters = counters;
  }

  /** The server at an address. */
  at(address: ServerAddress, source: ServerSource = {}): UpstreamServer {
    const text = serverText(address);
    const key = `${text} ${source.address} ${source.port}`;
    const existing = this.#servers.get(key);
    if (existing !== undefined) return existing;
    const target: UpstreamTarget = {
      server: address,
      ...(source.address !== undefined && { sourceAddress: source.address }),
      ...(source.port !== undefined && { sourcePort: source.port }),
    };
    const { address: host, port } = address;
    const sockets = this.sockets.socketsFor(target);
    const server: UpstreamServer = {
      address: host,
      port,
      text,
      sockets,
      health: new ServerHealth(sockets),
      counts: this.#counters.of(text),
      caseEcho: new CaseEcho(),
      edns: new EdnsSupport(),
    };
    this.#servers.set(key, server);
    return server;
  }

  /** Forgets every server but these, in the order of their metrics. */
  retain(servers: Iterable<UpstreamServer>): void {
    const retained = new Set(servers);
    this.#counters.retain(new Set([...retained].map(({ text }) => text)));
    for (const [key, server] of this.#servers) {
      if (retained.has(server)) continue;
      server.health.close();
      server.sockets.close();
      this.#servers.delete(key);
    }
  }
}
