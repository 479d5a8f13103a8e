import { isIPv6 } from 'node:net';
import { nowMs } from '../batch-clock.js';
import { descriptorShare } from '../descriptor-limit.js';
import { isLoopback, type ServerAddress } from '../server-address.js';
import { randomId, reservedPorts, type SourcePorts } from '../random-id.js';
import { EncryptedServers } from '../encrypted/encrypted-servers.js';
import { DgramEngine } from '../dgram-engine.js';
import type { OpenUpstreamPort, UdpEngine } from '../udp-engine.js';
import type { ReplyHandler, SentQuery, ServerSockets } from './server-sockets.js';
import { TcpPlaces } from './tcp-places.js';
import { UpstreamSocket } from './upstream-socket.js';

export interface UpstreamSocketsOptions {
  /** How datagrams move; node:dgram by default. */
  readonly engine?: Pick<UdpEngine, 'batch' | 'openUpstreamPort' | 'sendTogether'>;
  readonly ports?: SourcePorts;
  /** Milliseconds that never fall; the clock of the process by default. */
  readonly now?: () => number;
  /** Milliseconds since the epoch, for the end of certificates; `Date.now()` unless given. */
  readonly wallNow?: () => number;
}

/** A server to ask, and the source of the queries where the system does not choose it. */
export interface UpstreamTarget {
  readonly server: ServerAddress;
  readonly sourceAddress?: string;
  readonly sourcePort?: number;
}

/** Up to this many sockets per second each query gets a new one, as in dnsmasq. */
const FRESH_PER_SECOND = 100;
const FRESH_BURST = 64;
/** Beyond that, queries share the newest sockets of their server, one of them drawn at random. */
const MAX_SHARED = 4;
/** This many queries use a drawn socket: an engine can send them together. */
const QUERIES_PER_DRAW = 64;
/** Sockets of all servers together, over UDP and TCP; beyond that, only a server without any gets one. */
const MAX_OPEN = 512;
/** Of these, over TCP: so neither takes the other's. */
const MAX_OPEN_TCP = 128;
/** Of the descriptors of the process, where that is less. */
const SHARE_OF_DESCRIPTORS = 1 / 4;
const TCP_SHARE_OF_DESCRIPTORS = 1 / 16;
const SWEEP_MS = 1_000;
/** An unused socket is closed after MAX_IDLE_MS; one older than MAX_AGE_MS sends no more queries. */
const MAX_IDLE_MS = 2_000;
const MAX_AGE_MS = 10_000;

/**
 * The UDP sockets for all upstream servers, and the places of connections to them. Ports stay unpredictable and system calls few: at a low rate
 * each query uses a new port, at a high rate one of several ports that change all the time.
 */
export class UpstreamSockets {
  readonly #now: () => number;
  /** The connections over plain TCP. */
  readonly tcp: TcpPlaces;
  /** The connections to encrypted servers. */
  readonly encrypted: EncryptedServers;
  /** Over UDP. */
  readonly #maxOpen: number;
  readonly #engine: Pick<UdpEngine, 'batch'>;
  readonly #openPort: OpenUpstreamPort;
  readonly #open = new Set<UpstreamSocket>();
  /** Sockets on a configured port, by family, address and port: there can be only one each. */
  readonly #fixed = new Map<string, UpstreamSocket>();
  readonly #timer: NodeJS.Timeout;
  /** Programs listen on these, or may want to: the servers that are asked, for example kubedns in the same pod. */
  readonly #avoided = reservedPorts();
  readonly #ports: SourcePorts;
  #fresh = FRESH_BURST;
  #filledAtMs: number;
  #isClosed = false;

  constructor(options: UpstreamSocketsOptions = {}) {
    this.#ports = { ...options.ports, avoided: this.#avoided };
    const maxOpenTcp = descriptorShare(MAX_OPEN_TCP, TCP_SHARE_OF_DESCRIPTORS);
    this.tcp = new TcpPlaces(maxOpenTcp);
    this.#maxOpen = Math.max(1, descriptorShare(MAX_OPEN, SHARE_OF_DESCRIPTORS) - maxOpenTcp);
    this.#now = options.now ?? nowMs;
    const engine = options.engine ?? new DgramEngine();
    this.#engine = engine;
    this.#openPort = (port, owner) => engine.openUpstreamPort(port, owner);
    this.encrypted = new EncryptedServers({
      now: this.#now,
      wallNow: options.wallNow ?? Date.now,
      together: (work) => engine.sendTogether(work),
    });
    this.#filledAtMs = this.#now();
    this.#timer = setInterval(() => this.sweep(), SWEEP_MS).unref();
  }

  /** Sockets over UDP that are open now. */
  get size(): number {
    return this.#open.size + this.#fixed.size;
  }

  /** The sockets for one server; several objects for one server are independent. */
  socketsFor(end: UpstreamTarget): ServerSockets {
    this.#avoided.add(end.server.port);
    return new UdpSockets(this, end);
  }

  /** For UdpSockets: see `UdpEngine.batch`. */
  get batch(): number {
    return this.#engine.batch;
  }

  /** Closes unused sockets; called by a timer. */
  sweep(): void {
    const now = this.#now();
    for (const socket of this.#open) {
      const isIdle = socket.inFlight === 0 && now - socket.usedAtMs > MAX_IDLE_MS;
      if (isIdle || now - socket.openedAtMs > MAX_AGE_MS) this.retire(socket);
    }
  }

  /** Closes every socket, and opens no other; may be called twice. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const socket of this.#open) socket.close();
    for (const socket of this.#fixed.values()) socket.close();
    this.#open.clear();
    this.#fixed.clear();
    this.encrypted.close();
  }

  /** For UdpSockets: the one socket of a target with a fixed port. */
  fixedSocket({ server, sourceAddress, sourcePort }: UpstreamTarget): UpstreamSocket | undefined {
    const port = sourcePort ?? this.#ports.fixed!;
    const isIpv6 = isIPv6(server.address);
    const key = `${isIpv6} ${sourceAddress} ${port}`;
    const existing = this.#fixed.get(key);
    if (existing !== undefined) return existing;
    const socket = UpstreamSocket.open({
      openPort: this.#openPort,
      ports: { fixed: port },
      sourceAddress,
      server: undefined,
      isIpv6,
      now: this.#now(),
      onEmpty: () => undefined,
    });
    if (socket !== undefined) this.#fixed.set(key, socket);
    return socket;
  }

  /** For UdpSockets: whether every query to this target uses the same port. */
  isFixed(end: UpstreamTarget): boolean {
    return (end.sourcePort ?? 0) > 0 || this.#ports.fixed !== undefined;
  }

  /** For UdpSockets: one more socket, unless there are enough; undefined also when none can be opened. */
  freshSocket(
    { server, sourceAddress }: UpstreamTarget,
    isNeeded: boolean,
  ): UpstreamSocket | undefined {
    if (this.#isClosed) return undefined;
    const now = this.#now();
    const filled = this.#fresh + ((now - this.#filledAtMs) * FRESH_PER_SECOND) / 1_000;
    this.#fresh = Math.min(FRESH_BURST, filled);
    this.#filledAtMs = now;
    if (!isNeeded && (this.#fresh < 1 || this.#open.size >= this.#maxOpen)) return undefined;
    this.#fresh = Math.max(0, this.#fresh - 1);
    const socket = UpstreamSocket.open({
      openPort: this.#openPort,
      ports: this.#ports,
      sourceAddress,
      server,
      isIpv6: isIPv6(server.address),
      now,
      onEmpty: (empty) => {
        empty.usedAtMs = this.#now();
        if (empty.isRetired) this.#discard(empty);
      },
    });
    if (socket !== undefined) this.#open.add(socket);
    return socket;
  }

  /** For UdpSockets: it sends no more queries; it is closed when none is in flight. */
  retire(socket: UpstreamSocket): void {
    socket.isRetired = true;
    if (socket.inFlight === 0) this.#discard(socket);
  }

  #discard(socket: UpstreamSocket): void {
    if (this.#open.delete(socket)) socket.close();
  }
}

/** The UDP sockets for one server. */
class UdpSockets implements ServerSockets {
  readonly #all: UpstreamSockets;
  readonly #end: UpstreamTarget;
  readonly #isFixed: boolean;
  /** The sockets in use, a ring; retired ones in it are skipped. */
  readonly #shared: UpstreamSocket[] = [];
  #oldest = 0;
  #drawn: UpstreamSocket | undefined;
  #drawnFor = 0;
  readonly #isLoopback: boolean;
  /** Of a server on loopback: the socket of this batch. */
  #ofBatch: UpstreamSocket | undefined;
  #batch = 0;

  constructor(all: UpstreamSockets, end: UpstreamTarget) {
    this.#all = all;
    this.#end = end;
    this.#isFixed = all.isFixed(end);
    this.#isLoopback = isLoopback(end.server.address);
  }

  send(query: Buffer, handler: ReplyHandler): SentQuery | undefined {
    return this.#socket()?.send(query, this.#end.server, handler);
  }

  close(): void {
    if (!this.#isFixed) for (const socket of this.#shared) this.#all.retire(socket);
    this.#shared.length = 0;
    this.#drawn = this.#ofBatch = undefined;
  }

  #socket(): UpstreamSocket | undefined {
    if (this.#isFixed) return this.#all.fixedSocket(this.#end);
    return this.#isLoopback ? this.#socketOfBatch() : this.#nextSocket();
  }

  /**
   * The queries of a batch to a server on loopback leave from one socket, so that they can be one send, and the replies one
   * message: there only a program of this machine can forge, and it must own the server's address and port.
   */
  #socketOfBatch(): UpstreamSocket | undefined {
    const { batch } = this.#all;
    if (batch === 0) return this.#nextSocket();
    if (batch !== this.#batch || this.#ofBatch?.isRetired !== false) {
      this.#ofBatch = this.#nextSocket();
      this.#batch = batch;
    }
    return this.#ofBatch;
  }

  #nextSocket(): UpstreamSocket | undefined {
    const shared = this.#sharedSocket();
    const fresh = this.#all.freshSocket(this.#end, shared === undefined);
    if (fresh === undefined) return shared;
    if (this.#shared.length < MAX_SHARED) {
      this.#shared.push(fresh);
      return fresh;
    }
    this.#all.retire(this.#shared[this.#oldest]!);
    this.#shared[this.#oldest] = fresh;
    this.#oldest = (this.#oldest + 1) % MAX_SHARED;
    return fresh;
  }

  /** One of the sockets in use, drawn at random, so that its port cannot be predicted. */
  #sharedSocket(): UpstreamSocket | undefined {
    if (this.#drawnFor > 0 && this.#drawn?.isRetired === false) {
      this.#drawnFor--;
      return this.#drawn;
    }
    this.#drawn = this.#draw();
    this.#drawnFor = QUERIES_PER_DRAW - 1;
    return this.#drawn;
  }

  #draw(): UpstreamSocket | undefined {
    while (this.#shared.length > 0) {
      const at = randomId() % this.#shared.length;
      const socket = this.#shared[at]!;
      if (!socket.isRetired) return socket;
      this.#shared[at] = this.#shared.at(-1)!;
      this.#shared.pop();
      this.#oldest = 0;
    }
    return undefined;
  }
}
