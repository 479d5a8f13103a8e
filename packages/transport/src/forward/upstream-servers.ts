import { nowMs } from '../batch-clock.js';
import type { EncryptedStatus } from '../encrypted/pool.js';
import { TlsTrust } from '../encrypted/tls.js';
import { isStreamed, type ServerAddress, serverKey, serverText } from '../server-address.js';
import { EdnsSupport } from './edns-support.js';
import { CaseEcho } from './name-case.js';
import { UpstreamCookies } from './upstream-cookies.js';
import type { ServerCounter, ServerCounters } from './server-counter.js';
import { ServerHealth } from './server-health.js';
import { TcpHealth } from './tcp-health.js';
import type { ServerSockets, Unreachable, UpstreamTarget } from './server-sockets.js';
import { ServerPlaces } from './tcp-places.js';
import type { UpstreamSockets } from './upstream-sockets.js';

/** How often servers that are down are looked after, and how many of them at a time: each probe needs a socket. */
const LOOK_MS = 250;
const MAX_LOOKS = 16;

/** The source of queries to a server, where the system does not choose it. */
export interface ServerSource {
  readonly address?: string;
  /** Over UDP. */
  readonly port?: number;
}

/** A server that can be asked; one object per address, port and source, whatever its domains. */
export interface UpstreamServer extends ServerAddress {
  /** As `serverText` writes it: `ADDRESS#PORT` of one that is not encrypted. */
  readonly text: string;
  readonly source: ServerSource;
  readonly sockets: ServerSockets;
  /** Its connections over plain TCP. */
  readonly tcpPlaces: ServerPlaces;
  /** The connections to it, where they are kept. */
  readonly encrypted?: EncryptedStatus;
  readonly counts: ServerCounter;
  /** Over UDP. */
  readonly health: ServerHealth;
  readonly tcpHealth: TcpHealth;
  readonly caseEcho: CaseEcho;
  readonly edns: EdnsSupport;
  /** The cookies that it is asked with, if any. */
  readonly cookies?: UpstreamCookies;
}

export interface UpstreamServersOptions {
  /** Called when a server goes down, and when it is up again. */
  readonly onHealthChange?: (server: UpstreamServer) => void;
  /** Servers that are asked over UDP are asked with cookies (RFC 7873); not by default. */
  readonly usesCookies?: boolean;
  /** Milliseconds that never fall, as the forwarder's; the clock of the process by default. */
  readonly now?: () => number;
  /** The authorities of encrypted servers, as PEM text; the system's by default. A text without a certificate is an error. */
  readonly tlsCa?: string | undefined;
  /** Called when no connection to a server that is asked over kept ones can be opened, for each new reason. */
  readonly onTlsFailure?: (server: UpstreamServer, why: Unreachable) => void;
}

/** The servers of all domains, with their sockets and counts; both outlive a change of configuration. */
export class UpstreamServers {
  /** Replies over UDP that were not taken because our cookie was missing. */
  rejectedReplies = 0;
  /** The sockets that all of them share. */
  readonly sockets: UpstreamSockets;
  readonly #counters: ServerCounters;
  readonly #options: UpstreamServersOptions;
  readonly #now: () => number;
  readonly #trust: TlsTrust;
  #servers = new Map<string, UpstreamServer>();
  /** Those that are down, the one that was probed last at the end. */
  readonly #down = new Set<UpstreamServer>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    sockets: UpstreamSockets,
    counters: ServerCounters,
    options: UpstreamServersOptions = {},
  ) {
    this.sockets = sockets;
    this.#counters = counters;
    this.#options = options;
    this.#now = options.now ?? nowMs;
    this.#trust = new TlsTrust(options.tlsCa);
  }

  /** The authorities of encrypted servers; undefined for the system's. */
  get tlsCa(): string | undefined {
    return this.#options.tlsCa;
  }

  /** The server at an address. */
  at(address: ServerAddress, source: ServerSource = {}): UpstreamServer {
    const text = serverText(address);
    const key = `${serverKey(address)} ${source.address} ${source.port}`;
    const existing = this.#servers.get(key);
    if (existing !== undefined) return existing;
    const target: UpstreamTarget = {
      server: address,
      ...(source.address !== undefined && { sourceAddress: source.address }),
      ...(source.port !== undefined && { sourcePort: source.port }),
    };
    const onFailure = (why: Unreachable) => this.#options.onTlsFailure?.(server, why);
    if (address.encryption !== undefined) this.#trust.load();
    const encrypted = isStreamed(address)
      ? this.sockets.encrypted.connectionsTo({ target, trust: this.#trust, onFailure })
      : undefined;
    const sockets = encrypted ?? this.sockets.socketsFor(target);
    const onChange = () => this.#noteHealth(server);
    const server: UpstreamServer = {
      ...address,
      ...(encrypted !== undefined && { encrypted }),
      ...(this.#options.usesCookies === true &&
        encrypted === undefined && { cookies: new UpstreamCookies(() => this.rejectedReplies++) }),
      text,
      source,
      sockets,
      tcpPlaces: new ServerPlaces(this.sockets.tcp),
      health: new ServerHealth({ server: address, sockets, now: this.#now, onChange }),
      tcpHealth: new TcpHealth(this.#now),
      counts: this.#counters.of(text),
      caseEcho: new CaseEcho(),
      edns: new EdnsSupport(),
    };
    this.#servers.set(key, server);
    return server;
  }

  /** Those that are in use now. */
  get all(): Iterable<UpstreamServer> {
    return this.#servers.values();
  }

  /** Forgets every server but these, in the order of their metrics. */
  retain(servers: Iterable<UpstreamServer>): void {
    const retained = new Set(servers);
    this.#counters.retain(new Set([...retained].map(({ text }) => text)));
    for (const [key, server] of this.#servers) {
      if (retained.has(server)) continue;
      this.#down.delete(server);
      server.health.close();
      server.tcpHealth.close();
      server.sockets.close();
      this.#servers.delete(key);
    }
  }

  /** Probes servers that are down, so that they are up before a client asks; called by a timer. */
  probeDown(): void {
    const nowMs = this.#now();
    for (const server of [...this.#down].slice(0, MAX_LOOKS)) {
      server.health.probe(nowMs);
      this.#down.delete(server);
      this.#down.add(server);
    }
    if (this.#down.size === 0) this.close();
  }

  /** A server has said something, over another connection than those of questions. */
  noteAlive({ address, port }: ServerAddress): void {
    for (const server of [...this.#down]) {
      const isAt = server.port === port && server.address === address;
      if (isAt && server.encryption === undefined) server.health.noteReply(this.#now());
    }
  }

  /** Probes no server any more. May be called twice. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #noteHealth(server: UpstreamServer): void {
    server.tcpHealth.isUp = false;
    if (server.health.isDown) {
      this.#down.add(server);
      this.#timer ??= setInterval(() => this.probeDown(), LOOK_MS).unref();
    } else this.#down.delete(server);
    this.#options.onHealthChange?.(server);
  }
}
