import { isIPv6 } from 'node:net';
import { HEADER_BYTES, readUint16, shortIpv6, writeUint16 } from '@kube-dns/wire';
import { nowMs } from '../batch-clock.js';
import { descriptorShare } from '../descriptor-limit.js';
import { DgramEngine } from '../dgram-engine.js';
import { EncryptedServers } from '../encrypted/pool.js';
import { portsToTry, randomId, reservedPorts, type SourcePorts } from '../random-id.js';
import { isResponseTo } from '../reply-match.js';
import { SentTable } from '../sent-table.js';
import { isLoopback, type ServerAddress } from '../server-address.js';
import type { Peer, PortOwner, UdpEngine, UpstreamPort } from '../udp-engine.js';
import { TcpSlots } from './quota.js';
import type {
  QuerySocket,
  ReplyHandler,
  SentQuery,
  ServerSockets,
  UpstreamTarget,
} from './server-sockets.js';

export interface UpstreamSocketsOptions {
  /** How datagrams move; node:dgram by default. */
  readonly engine?: Pick<UdpEngine, 'batch' | 'openUpstreamPort' | 'sendTogether'>;
  readonly ports?: SourcePorts;
  /** Milliseconds that never fall; the clock of the process by default. */
  readonly now?: () => number;
  /** Milliseconds since the epoch, for the end of certificates; `Date.now()` unless given. */
  readonly wallNow?: () => number;
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
/** On the one port that is configured a wrong ID is looked at so often: each costs a look at all that is in flight there. */
const GUESS_PAUSE_MS = 10;
/** The bit of a response, in the third byte of a message. */
const QR = 0x80;
const SWEEP_MS = 1_000;
/** An unused socket is closed after MAX_IDLE_MS; one older than MAX_AGE_MS sends no more queries. */
const MAX_IDLE_MS = 2_000;
const MAX_AGE_MS = 10_000;
/**
 * After a question had its reply at another port only, for so long new questions leave from ports that have had replies: a
 * balancer or conntrack may lead each port to one of several servers, of which one is silent.
 */
const SILENT_PORT_MS = 10_000;
/** In that time a new port is tried so often; one that stays silent begins the time anew. */
const TRIAL_MS = 1_000;
/** The same while fewer ports than this are known to be good. */
const MIN_GOOD = 2;
const SOON_TRIAL_MS = 250;
/** Queries of one socket; half of all IDs: a free one is found with the second draw on average at the worst. */
const MAX_IN_FLIGHT = 1 << 15;

/**
 * The UDP sockets for all upstream servers, and the slots of connections to them. Ports stay unpredictable and system calls few: at a low rate
 * each query uses a new port, at a high rate one of several ports that change all the time.
 */
export class UpstreamSockets {
  /** The connections over plain TCP. */
  readonly tcp: TcpSlots;
  /** Ports at which a reply had an ID that no query there has, or had: IDs were being guessed. */
  guessedPorts = 0;
  /** The connections to encrypted servers. */
  readonly encrypted: EncryptedServers;
  readonly #now: () => number;
  /** Over UDP. */
  readonly #maxOpen: number;
  readonly #engine: NonNullable<UpstreamSocketsOptions['engine']>;
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
    this.tcp = new TcpSlots(maxOpenTcp);
    this.#maxOpen = Math.max(1, descriptorShare(MAX_OPEN, SHARE_OF_DESCRIPTORS) - maxOpenTcp);
    this.#now = options.now ?? nowMs;
    const engine = options.engine ?? new DgramEngine();
    this.#engine = engine;
    const together = (work: () => void) => engine.sendTogether(work);
    this.encrypted = new EncryptedServers(this.#now, options.wallNow ?? Date.now, together);
    this.#filledAtMs = this.#now();
    this.#timer = setInterval(() => this.sweep(), SWEEP_MS).unref();
  }

  /** Sockets over UDP that are open now. */
  get size(): number {
    return this.#open.size + this.#fixed.size;
  }

  /** The sockets for one server; several objects for one server are independent. */
  socketsFor(target: UpstreamTarget): ServerSockets {
    this.#avoided.add(target.server.port);
    return new UdpSockets(this, target);
  }

  /** For UpstreamSocket: milliseconds that never fall. */
  get now(): number {
    return this.#now();
  }

  /** For UdpSockets: see `UdpEngine.batch`. */
  get batch(): number {
    return this.#engine.batch;
  }

  /** Closes unused sockets; called by a timer. */
  sweep(): void {
    const now = this.#now();
    for (const socket of this.#open) {
      const isIdle = socket.inFlight === 0 && now - socket.usedAtMs > socket.maxIdleMs;
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
    const socket = this.#openSocket({ fixed: port }, isIpv6, sourceAddress);
    if (socket !== undefined) this.#fixed.set(key, socket);
    return socket;
  }

  /** For UdpSockets: whether every query to this target uses the same port. */
  isFixed(target: UpstreamTarget): boolean {
    return (target.sourcePort ?? 0) > 0 || this.#ports.fixed !== undefined;
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
    const socket = this.#openSocket(this.#ports, isIPv6(server.address), sourceAddress, server);
    if (socket !== undefined) this.#open.add(socket);
    return socket;
  }

  /** For UdpSockets: it sends no more queries; it is closed when none is in flight. */
  retire(socket: UpstreamSocket): void {
    socket.isRetired = true;
    if (socket.inFlight === 0) this.#discard(socket);
  }

  /** For UpstreamSocket: no query is in flight there any more. */
  noteEmpty(socket: UpstreamSocket): void {
    socket.usedAtMs = this.#now();
    if (socket.isRetired) this.#discard(socket);
  }

  /**
   * With a server the socket is for that one only, else for all of the family. Undefined when no port is free, or this
   * machine does not have the source address.
   */
  #openSocket(
    ports: SourcePorts,
    isIpv6: boolean,
    sourceAddress: string | undefined,
    server?: ServerAddress,
  ): UpstreamSocket | undefined {
    const socket = new UpstreamSocket(this, server !== undefined, this.#now());
    for (const port of portsToTry(ports)) {
      socket.port = this.#engine.openUpstreamPort({ port, sourceAddress, server, isIpv6 }, socket);
      if (socket.port !== undefined) return socket;
    }
    return undefined;
  }

  #discard(socket: UpstreamSocket): void {
    if (this.#open.delete(socket)) socket.close();
  }
}

/** What comes back to a port that is tried shows that it is good; nothing else is taken from it. */
const TRIAL: ReplyHandler = {
  onReply: (sent) => sent.socket.forget(sent),
  onUnreachable: () => undefined,
};

/** The UDP sockets for one server. */
class UdpSockets implements ServerSockets {
  readonly #all: UpstreamSockets;
  readonly #target: UpstreamTarget;
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
  /** Some ports may be silent: questions leave from those that had replies. */
  #hasSilentPorts = false;
  #silentUntilMs = 0;
  #trial: SentDatagram | undefined;
  #triedAtMs = 0;

  constructor(all: UpstreamSockets, target: UpstreamTarget) {
    this.#all = all;
    this.#target = target;
    this.#isFixed = all.isFixed(target);
    this.#isLoopback = isLoopback(target.server.address);
  }

  send(query: Buffer, handler: ReplyHandler): SentQuery | undefined {
    if (this.#hasSilentPorts && this.#all.now - this.#triedAtMs >= SOON_TRIAL_MS)
      this.#tryPort(query);
    return this.#socket()?.send(query, this.#target.server, handler);
  }

  sendElsewhere(
    query: Buffer,
    handler: ReplyHandler,
    silent: readonly SentQuery[],
  ): SentQuery | undefined {
    if (this.#isFixed) return undefined;
    for (const sent of silent) this.#leaveSilent(sent as SentDatagram);
    const used = (silent as SentDatagram[]).map(({ socket }) => socket);
    const { sentAtMs } = silent.at(-1) as SentDatagram;
    const isOther = (socket: UpstreamSocket) => !socket.isRetired && !used.includes(socket);
    const others = this.#shared.filter(isOther);
    const good = others.filter(({ repliedAtMs }) => repliedAtMs >= sentAtMs);
    const socket = oneOf(good) ?? this.#freshSocket(false) ?? oneOf(others);
    return socket?.send(query, this.#target.server, handler);
  }

  hasReplyElsewhere(silent: SentQuery): boolean {
    const { socket, sentAtMs } = silent as SentDatagram;
    if (socket.repliedAtMs >= sentAtMs) return false;
    return this.#shared.some(({ isRetired, repliedAtMs }) => !isRetired && repliedAtMs >= sentAtMs);
  }

  noteSilentPort(silent: SentQuery): void {
    const { socket, sentAtMs } = silent as SentDatagram;
    if (socket.repliedAtMs >= sentAtMs) return;
    this.#hasSilentPorts = true;
    for (const socket of this.#shared) socket.maxIdleMs = MAX_AGE_MS;
    this.#silentUntilMs = this.#all.now + SILENT_PORT_MS;
    this.#leaveSilent(silent as SentDatagram);
  }

  close(): void {
    this.#endTrial();
    this.#hasSilentPorts = false;
    if (!this.#isFixed) for (const socket of this.#shared) this.#all.retire(socket);
    this.#shared.length = 0;
    this.#drawn = this.#ofBatch = undefined;
  }

  #socket(): UpstreamSocket | undefined {
    if (this.#isFixed) return this.#all.fixedSocket(this.#target);
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
    const good = this.#hasSilentPorts ? this.#goodSocket() : undefined;
    if (good !== undefined) return good;
    const shared = this.#sharedSocket();
    return this.#freshSocket(shared === undefined) ?? shared;
  }

  /** A new one among those in use; undefined when there are enough, unless it is needed. */
  #freshSocket(isNeeded: boolean): UpstreamSocket | undefined {
    const fresh = this.#all.freshSocket(this.#target, isNeeded);
    if (fresh === undefined) return undefined;
    if (this.#hasSilentPorts) fresh.maxIdleMs = MAX_AGE_MS;
    if (this.#shared.length < MAX_SHARED) {
      this.#shared.push(fresh);
      return fresh;
    }
    const notGood = this.#hasSilentPorts ? this.#shared.findIndex(isNotGood) : -1;
    const at = notGood < 0 ? this.#oldest : notGood;
    this.#all.retire(this.#shared[at]!);
    this.#shared[at] = fresh;
    if (at === this.#oldest) this.#oldest = (this.#oldest + 1) % MAX_SHARED;
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

  /** One of those that had a reply, drawn at random for each query. */
  #goodSocket(): UpstreamSocket | undefined {
    const { length } = this.#shared;
    const first = randomId();
    for (let i = 0; i < length; i++) {
      const socket = this.#shared[(first + i) % length]!;
      if (isGood(socket)) return socket;
    }
    return undefined;
  }

  /** No new query leaves from its port if nothing came back there since. */
  #leaveSilent({ socket, sentAtMs }: SentDatagram): void {
    if (!this.#hasSilentPorts || socket.isRetired || socket.repliedAtMs >= sentAtMs) return;
    this.#all.retire(socket);
  }

  /** Sends a copy of a query from a new port when that is due: if a reply comes there, questions leave from it later. */
  #tryPort(query: Buffer): void {
    const { now } = this.#all;
    const isFew = this.#shared.filter(isGood).length < MIN_GOOD;
    if (now - this.#triedAtMs < (isFew ? SOON_TRIAL_MS : TRIAL_MS)) return;
    if (this.#endTrial()) this.#silentUntilMs = now + SILENT_PORT_MS;
    if (now >= this.#silentUntilMs) {
      this.#hasSilentPorts = false;
      return;
    }
    this.#triedAtMs = now;
    const socket = this.#freshSocket(false);
    this.#trial = socket?.send(Buffer.from(query), this.#target.server, TRIAL);
  }

  /** True if the port that was tried last has had no reply. */
  #endTrial(): boolean {
    const trial = this.#trial;
    this.#trial = undefined;
    if (trial === undefined) return false;
    const { socket } = trial;
    const isSilent = socket.repliedAtMs < trial.sentAtMs;
    if (isSilent) this.#all.retire(socket);
    socket.forget(trial);
    return isSilent;
  }

  #draw(): UpstreamSocket | undefined {
    while (this.#shared.length > 0) {
      const index = randomId() % this.#shared.length;
      const socket = this.#shared[index]!;
      if (!socket.isRetired) return socket;
      this.#shared[index] = this.#shared.at(-1)!;
      this.#shared.pop();
      this.#oldest = 0;
    }
    return undefined;
  }
}

/**
 * A UDP socket with many queries in flight. A reply counts only for a query of this socket, to the
 * server that replied, with its ID and its question (RFC 5452 section 9.1).
 */
class UpstreamSocket implements PortOwner, QuerySocket {
  /** A retired one sends no query; it waits for the replies that may still arrive. */
  isRetired = false;
  usedAtMs: number;
  maxIdleMs = MAX_IDLE_MS;
  /** When a reply came here last. */
  repliedAtMs = Number.NEGATIVE_INFINITY;
  readonly openedAtMs: number;
  /** Set once it is open. */
  port: UpstreamPort | undefined;
  readonly #all: UpstreamSockets;
  readonly #inFlight = new SentTable<SentDatagram>();
  readonly #isConnected: boolean;
  /** When a reply had an ID that no query here has, or had: of a port for one server that was its end. */
  #guessedAtMs = Number.NEGATIVE_INFINITY;

  constructor(all: UpstreamSockets, isConnected: boolean, nowMs: number) {
    this.#all = all;
    this.#isConnected = isConnected;
    this.usedAtMs = this.openedAtMs = nowMs;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Undefined when too many queries are in flight here. A query that the system does not send is lost. */
  send(query: Buffer, server: ServerAddress, handler: ReplyHandler): SentDatagram | undefined {
    if (this.#inFlight.size >= MAX_IN_FLIGHT) return undefined;
    const id = this.#inFlight.drawId();
    const sentAtMs = this.#all.now;
    const sent: SentDatagram = {
      socket: this,
      id,
      query,
      server,
      handler,
      sentAtMs,
      next: undefined,
    };
    this.#inFlight.add(sent);
    this.#write(sent);
    return sent;
  }

  /** Sends a query once more, with the same ID; the message may be another with the same question. */
  resend(sent: SentDatagram, query = sent.query): void {
    if (this.#inFlight.find(sent.id) !== sent) return;
    sent.query = query;
    this.#write(sent);
  }

  /** Waits for no reply to this query any more. */
  forget(sent: SentDatagram): void {
    if (this.#inFlight.remove(sent) && this.#inFlight.size === 0) this.#all.noteEmpty(this);
  }

  onDatagram(reply: Buffer, from: Peer): void {
    if (reply.length < HEADER_BYTES) return;
    const id = readUint16(reply, 0);
    const sent = this.#inFlight.find(id);
    if (sent === undefined) this.#takeUnasked(id, reply, from);
    if (sent === undefined || !isResponseTo(sent.query, reply)) return;
    // A connected socket receives from its server only.
    if (!this.#isConnected && !isFrom(sent.server, from)) return;
    this.repliedAtMs = this.#all.now;
    sent.handler.onReply(sent, reply);
  }

  onUnreachable(): void {
    for (const sent of this.#inFlight.all()) sent.handler.onUnreachable(sent);
  }

  close(): void {
    this.#inFlight.clear();
    this.port?.close();
  }

  /**
   * A reply with an ID that is not in flight here: a late one, or one of those by which someone who knows the port finds out the
   * ID. What waits here is asked in another way then, and nothing else is sent from this port.
   */
  #takeUnasked(id: number, reply: Buffer, from: Peer): void {
    if ((reply[2]! & QR) === 0 || this.#all.now - this.#guessedAtMs < GUESS_PAUSE_MS) return;
    if (this.#inFlight.size === 0 || this.#inFlight.hadId(id)) return;
    const guessed = this.#inFlight
      .all()
      .filter(({ server }) => this.#isConnected || isFrom(server, from));
    if (guessed.length === 0) return;
    this.#guessedAtMs = this.#isConnected ? Number.POSITIVE_INFINITY : this.#all.now;
    this.#all.guessedPorts++;
    if (this.#isConnected) this.#all.retire(this);
    for (const sent of guessed) sent.handler.onWrongId?.(sent);
  }

  #write({ id, query, server }: SentDatagram): void {
    writeUint16(query, 0, id);
    this.port?.send(query, server);
  }
}

function isGood({ isRetired, repliedAtMs }: UpstreamSocket): boolean {
  return !isRetired && repliedAtMs > Number.NEGATIVE_INFINITY;
}

function isNotGood(socket: UpstreamSocket): boolean {
  return !isGood(socket);
}

/** One of them, drawn so that it cannot be predicted; undefined of none. */
function oneOf(sockets: readonly UpstreamSocket[]): UpstreamSocket | undefined {
  return sockets[randomId() % sockets.length];
}

function isFrom(server: ServerAddress, from: Peer): boolean {
  if (from.port !== server.port) return false;
  return from.address === server.address || canonical(from.address) === canonical(server.address);
}

/** One spelling of each address; a scope stays as it is. */
function canonical(text: string): string {
  const [address = '', scope = ''] = text.split('%');
  if (!isIPv6(address)) return text;
  return `${shortIpv6(address)}%${scope}`;
}

/** A query that went out as a datagram. */
interface SentDatagram extends SentQuery {
  readonly socket: UpstreamSocket;
  readonly id: number;
  /** The message; the ID in it is that of its last sending. */
  query: Buffer;
  readonly server: ServerAddress;
  readonly handler: ReplyHandler;
  readonly sentAtMs: number;
  /** Of the table: the next one of the same bucket. */
  next: SentDatagram | undefined;
}
