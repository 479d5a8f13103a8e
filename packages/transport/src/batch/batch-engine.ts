import { isIPv6 } from 'node:net';
import { getSystemErrorName } from 'node:util';
import { copyStart, EVERY_ADDRESS, MAX_DATAGRAM_BYTES } from '@kube-dns/wire';
import { holdClock, releaseClock } from '../batch-clock.js';
import type { ListenerCounters } from '../counters.js';
import { isLoopback, type ServerAddress } from '../server-address.js';
import type { TcpServer, TcpServerOwner } from '../tcp-server.js';
import {
  type DatagramHandler,
  type DatagramSocket,
  DISCARD_PORT,
  type Overload,
  type Peer,
  type PortOwner,
  type UdpEngine,
  type UpstreamPort,
  type UpstreamPortOptions,
} from '../udp-engine.js';
import { Awaited } from './awaited.js';
import {
  BatchPeer,
  encodeSocketName,
  MAX_NAME_BYTES,
  portOf,
  sourceStartAt,
} from './batch-peer.js';
import * as linux from './constants.js';
import { MSG_TRUNC } from './constants.js';
import { type EventLoop, type Libc, type ReadyEvents, systemError, type Watch } from './libc.js';
import { MessageArena, SLOTS } from './message-arena.js';
import { Joining, Outbox, type OutboxSocket } from './outbox.js';
import { SourceFilter } from './source-filter.js';
import {
  attachProgram,
  type LimitedPort,
  type ReceiveBuffer,
  receiveBuffer,
  SourceLimits,
} from './source-limits.js';
import { BatchTcpServer, StreamMemory, type TcpHub } from './tcp-server.js';

/** UDP through recvmmsg and sendmmsg: many datagrams per system call when many come. TCP without Node's streams. */
export class BatchEngine implements UdpEngine {
  readonly name = 'batch';
  readonly #hub: BatchHub;

  constructor(libc: Libc) {
    this.#hub = new BatchHub(libc);
  }

  /** What the system lacks of what makes this engine fast; undefined when it has all. */
  get lack(): string | undefined {
    return this.#hub.offload.lack;
  }

  get batch(): number {
    return this.#hub.batch;
  }

  createSocket(
    counters: ListenerCounters,
    onOverload: (text: string) => void = () => undefined,
  ): DatagramSocket {
    return new BatchListenerSocket(this.#hub, counters, onOverload);
  }

  createTcpServer(owner: TcpServerOwner): TcpServer {
    return new BatchTcpServer(this.#hub, owner);
  }

  sendTogether(work: () => void): void {
    this.#hub.together(work);
  }

  openUpstreamPort(options: UpstreamPortOptions, owner: PortOwner): UpstreamPort | undefined {
    try {
      return new BatchUpstreamPort(this.#hub, options, owner);
    } catch {
      // The caller tries another port.
      return undefined;
    }
  }
}

const LISTENER_BUFFER_BYTES = 1 << 22;
const EVERY_IPV4_ADDRESS = '0.0.0.0';
const EVERY_IPV6_ADDRESS = '::';
/** Released peers that are used again. */
const MAX_POOLED_PEERS = 2_048;

/**
 * The UDP socket of a listener: receives, answers and sends in batches. On every address it is two, one of each family: an IPv6
 * socket that IPv4 arrives at as well takes a tenth more CPU for it.
 */
class BatchListenerSocket implements DatagramSocket, SocketHandler {
  readonly #hub: BatchHub;
  readonly #counters: ListenerCounters;
  readonly #onOverload: (text: string) => void;
  /** The sender of the current datagram. */
  readonly #sender: BatchPeer;
  readonly #peerPool: BatchPeer[] = [];
  #ipv4: BatchSocket | undefined;
  #ipv6: BatchSocket | undefined;
  #onDatagram: DatagramHandler = () => undefined;

  constructor(hub: BatchHub, counters: ListenerCounters, onOverload: (text: string) => void) {
    this.#hub = hub;
    this.#counters = counters;
    this.#onOverload = onOverload;
    this.#sender = BatchPeer.inArena(hub.inbox);
  }

  get port(): number {
    return (this.#ipv6 ?? this.#ipv4)?.port ?? 0;
  }

  get overloads(): readonly Overload[] {
    return [this.#ipv4?.limits?.overload, this.#ipv6?.limits?.overload].filter(
      (overload) => overload !== undefined,
    );
  }

  get out(): Uint8Array {
    return this.#hub.answers.next;
  }

  get deferredOut(): Uint8Array {
    return this.#hub.outgoing.next;
  }

  // oxlint-disable-next-line typescript/require-await -- a failure to bind is a rejection
  async open(
    address: string,
    port: number,
    onDatagram: DatagramHandler,
    reusesPort = false,
  ): Promise<void> {
    this.#onDatagram = onDatagram;
    if (address === EVERY_ADDRESS) this.#openBoth(port, reusesPort);
    else if (isIPv6(address)) this.#ipv6 = this.#bind(address, port, reusesPort);
    else this.#ipv4 = this.#bind(address, port, reusesPort);
  }

  leavePort(): void {
    this.#ipv4?.leavePort();
    this.#ipv6?.leavePort();
  }

  send(bytes: Uint8Array, length: number, peer: Peer): void {
    const to = batchPeerOf(peer);
    const socket = to.isIpv4 ? this.#ipv4 : this.#ipv6;
    if (socket === undefined) {
      this.#counters.sendErrors++;
      return;
    }
    const { answers, outgoing } = this.#hub;
    if (bytes === answers.next) {
      answers.commit(socket, length, to);
      this.#hub.noteAnswered();
    } else if (bytes === outgoing.next) outgoing.commit(socket, length, to);
    else outgoing.push(socket, bytes, length, to);
    this.#hub.flushSoon();
  }

  copyAddress(peer: Peer, to: Uint8Array, at: number): number {
    return batchPeerOf(peer).copyAddress(to, at);
  }

  retain(peer: Peer): Peer {
    const retained = this.#peerPool.pop() ?? BatchPeer.copy();
    retained.copyFrom(batchPeerOf(peer));
    return retained;
  }

  release(peer: Peer): void {
    if (this.#peerPool.length < MAX_POOLED_PEERS) this.#peerPool.push(batchPeerOf(peer));
  }

  onDatagram(slot: number): void {
    const { inbox } = this.#hub;
    this.#sender.pointTo(inbox, slot);
    const length = inbox.lengthOf(slot);
    // What does not fit is refused for its length: it must not be answered as if its end were not there.
    const isCut = length === MAX_DATAGRAM_BYTES && (inbox.flagsOf(slot) & MSG_TRUNC) !== 0;
    this.#onDatagram(inbox.payloads[slot]!, isCut ? length + 1 : length, this.#sender);
  }

  onError(): void {
    this.#counters.sendErrors++;
  }

  onUnsent(): void {
    this.#counters.sendErrors++;
  }

  async close(): Promise<void> {
    this.#ipv4?.close();
    this.#ipv6?.close();
    this.#ipv4 = this.#ipv6 = undefined;
    return Promise.resolve();
  }

  /** A free port of IPv6 can be taken in IPv4: then it throws as for a given port. */
  #openBoth(port: number, reusesPort: boolean): void {
    const ipv6 = this.#bind(EVERY_IPV6_ADDRESS, port, reusesPort);
    try {
      this.#ipv4 = this.#bind(EVERY_IPV4_ADDRESS, ipv6.port, reusesPort);
    } catch (error) {
      ipv6.close();
      throw error;
    }
    this.#ipv6 = ipv6;
  }

  #bind(address: string, port: number, reusesPort: boolean): BatchSocket {
    const options = {
      isIpv6: isIPv6(address),
      isIpv6Only: true,
      address,
      port,
      reusesPort,
      answersFromSameAddress: address === EVERY_IPV4_ADDRESS || address === EVERY_IPV6_ADDRESS,
      merges: true,
      receiveBufferBytes: LISTENER_BUFFER_BYTES,
      overload: { counters: this.#counters, onOverload: this.#onOverload },
    };
    return new BatchSocket(this.#hub, options, this);
  }
}

function batchPeerOf(peer: Peer): BatchPeer {
  if (peer instanceof BatchPeer) return peer;
  throw new TypeError('the peer is of another engine');
}

const UPSTREAM_BUFFER_BYTES = 1 << 20;
/** The TC bit in the third byte of a message. */
const TC = 0x02;

/** A UDP port that sends queries and receives replies in batches. */
class BatchUpstreamPort implements UpstreamPort, SocketHandler {
  readonly #hub: BatchHub;
  readonly #owner: PortOwner;
  readonly #isIpv6: boolean;
  readonly #isConnected: boolean;
  readonly #socket: BatchSocket;
  readonly #sender: BatchPeer;
  #server: ServerAddress | undefined;
  readonly #toServer = BatchPeer.copy();

  /** Throws the system's error. */
  constructor(hub: BatchHub, options: UpstreamPortOptions, owner: PortOwner) {
    const { isIpv6, sourceAddress, port, server } = options;
    this.#hub = hub;
    this.#owner = owner;
    this.#isIpv6 = isIpv6;
    this.#isConnected = server !== undefined;
    this.#sender = BatchPeer.inArena(hub.inbox);
    this.#socket = new BatchSocket(
      hub,
      {
        isIpv6,
        address: sourceAddress ?? '',
        port,
        merges: server !== undefined && isLoopback(server.address),
        receiveBufferBytes: UPSTREAM_BUFFER_BYTES,
        ignoresPathMtu: true,
        remote: server,
      },
      this,
    );
  }

  send(query: Uint8Array, server: ServerAddress): void {
    if (this.#socket.isClosed) return;
    const peer = this.#isConnected ? undefined : this.#peerOf(server);
    this.#hub.outgoing.push(this.#socket, query, query.length, peer);
    this.#hub.flushSoon();
  }

  onDatagram(slot: number): void {
    const { inbox } = this.#hub;
    this.#sender.pointTo(inbox, slot);
    const reply = this.#hub.copyReply(slot);
    // A reply that did not fit counts as truncated: it is fetched over TCP.
    if ((inbox.flagsOf(slot) & MSG_TRUNC) !== 0) reply[2]! |= TC;
    this.#owner.onDatagram(reply, this.#sender);
  }

  onError(): void {
    if (this.#isConnected) this.#owner.onUnreachable();
  }

  onUnsent(): void {
    // The time-out covers lost queries.
  }

  close(): void {
    this.#socket.close();
  }

  #peerOf(server: ServerAddress): BatchPeer {
    if (this.#server !== server) {
      this.#toServer.setName(encodeSocketName(server.address, server.port, this.#isIpv6));
      this.#server = server;
    }
    return this.#toServer;
  }
}

/** Datagrams that come merged are this long together at most; pages that nothing is received into take no memory. */
const MERGED_BYTES = 65_536;
/** So many datagrams are received from one socket in a row before the others' turn, for so long; the last batch is handled whole. */
const MAX_DATAGRAMS = 8 * SLOTS;
const DRAIN_MS = 4;

/**
 * What the sockets of a batch engine share: the memory for received and for sent batches, and that of connections. One batch at a
 * time is received, answered and sent.
 */
class BatchHub implements TcpHub {
  readonly libc: Libc;
  readonly offload: Offload;
  readonly inbox: MessageArena;
  /** Answers written in place while a batch is handled. */
  readonly answers: Outbox;
  /** Copies: queries to servers, and deferred answers. */
  readonly outgoing: Outbox;
  readonly streams = new StreamMemory();
  readonly #reply = Buffer.allocUnsafeSlow(MAX_DATAGRAM_BYTES);
  /** Its views, by their length; made when they are needed. */
  readonly #replyViews: Buffer[] = [];
  #isDraining = false;
  #batches = 0;
  /** In the last drain: datagrams, and answers to them that were written at once. */
  #datagrams = 0;
  #answered = 0;

  constructor(libc: Libc) {
    this.libc = libc;
    this.offload = findOffload(libc);
    const slotBytes = this.offload.canMerge ? MERGED_BYTES : MAX_DATAGRAM_BYTES;
    this.inbox = new MessageArena(libc, slotBytes, 0);
    this.answers = new Outbox(libc);
    this.outgoing = new Outbox(libc);
  }

  /** See `UdpEngine.batch`. */
  get batch(): number {
    return this.#isDraining ? this.#batches : 0;
  }

  /** For the socket of a listener: the current datagram has its answer. */
  noteAnswered(): void {
    this.#answered++;
  }

  /**
   * Receives and answers what waits in a socket. Returns whether nothing is left for the event loop: a datagram that needs more than
   * an answer can have begun something that needs it.
   */
  answerAll(socket: BatchSocket): boolean {
    return this.drain(socket) && this.#answered >= this.#datagrams && socket.mayBeWaitedFor;
  }

  /**
   * Receives what waits in a socket, up to so many datagrams and then to the end of the batch, and sends the answers and queries that
   * result; so many messages in one call at most. Returns whether nothing waits any more.
   */
  drain(socket: BatchSocket, maxDatagrams = MAX_DATAGRAMS, batchSize = SLOTS): boolean {
    const { limits, isForOthers } = socket;
    this.#isDraining = true;
    this.#datagrams = this.#answered = 0;
    let endMs = 0;
    try {
      while (this.#datagrams < maxDatagrams && !socket.isClosed) {
        this.#batches++;
        const messages = socket.receive(this.inbox, batchSize);
        if (messages > 0) {
          const startMs = holdClock();
          if (endMs === 0) endMs = startMs + DRAIN_MS;
        }
        if (messages > 1) limits?.noteUse(messages);
        this.#datagrams += this.#takeAll(socket, messages);
        this.flush();
        if (messages < batchSize) {
          limits?.noteEmpty(isForOthers);
          return true;
        }
        if (performance.now() >= endMs) break;
      }
      return false;
    } finally {
      releaseClock();
      this.#isDraining = false;
      this.flush();
    }
  }

  /** Runs `work`, which sends deferred answers, and sends these together. */
  together(work: () => void): void {
    const wasDraining = this.#isDraining;
    if (!wasDraining) this.#batches++;
    this.#isDraining = true;
    try {
      work();
    } finally {
      this.#isDraining = wasDraining;
      this.flushSoon();
    }
  }

  /** Sends what waits, unless the end of the current batch does so anyway. */
  flushSoon(): void {
    if (!this.#isDraining) this.flush();
  }

  /** Sends what waits. */
  flush(): void {
    this.answers.flush();
    this.outgoing.flush();
    this.streams.flush();
  }

  /**
   * The reply of a server in a slot of the inbox, valid until the next one: a new Buffer for each is garbage that costs
   * more than this copy into the same memory.
   */
  copyReply(slot: number): Buffer {
    const length = this.inbox.lengthOf(slot);
    copyStart(this.inbox.payloads[slot]!, length, this.#reply);
    return (this.#replyViews[length] ??= this.#reply.subarray(0, length));
  }

  /** Returns how many datagrams the messages are. */
  #takeAll(socket: BatchSocket, messages: number): number {
    const { inbox } = this;
    const limits = socket.limits?.isCounting === true ? socket.limits : undefined;
    const { isForOthers } = socket;
    let datagrams = 0;
    for (let slot = 0; slot < messages; slot++) {
      const segmentBytes = inbox.takeSegmentBytes(slot) || inbox.lengthOf(slot);
      const isAnswered =
        limits === undefined || this.#isAdmitted(limits, slot, segmentBytes, isForOthers);
      datagrams += isAnswered ? this.#takeMessage(socket, slot, segmentBytes) : 1;
      inbox.allowReceive(slot);
    }
    return datagrams;
  }

  #isAdmitted(
    limits: SourceLimits,
    slot: number,
    segmentBytes: number,
    isForOthers: boolean,
  ): boolean {
    const { words } = this.inbox;
    const nameAt = this.inbox.nameAt(slot);
    const isEmpty = segmentBytes === 0;
    const datagrams = isEmpty ? 1 : Math.ceil(this.inbox.lengthOf(slot) / segmentBytes);
    const at = sourceStartAt(words, nameAt);
    const first = networkOrder(words[at]!);
    return limits.admit(first, networkOrder(words[at + 1]!), datagrams, isForOthers);
  }

  #takeMessage(socket: BatchSocket, slot: number, segmentBytes: number): number {
    const { inbox } = this;
    const length = inbox.lengthOf(slot);
    const isCut = (inbox.flagsOf(slot) & MSG_TRUNC) !== 0;
    let datagrams = 0;
    let at = 0;
    do {
      if (socket.isClosed) break;
      const bytes = Math.min(segmentBytes, length - at);
      const isLast = at + bytes === length;
      inbox.placeDatagram(slot, at, bytes, isCut && isLast, MAX_DATAGRAM_BYTES);
      socket.handler.onDatagram(slot);
      datagrams++;
      at += bytes;
    } while (at < length);
    return datagrams;
  }
}

interface BatchSocketOptions {
  readonly isIpv6: boolean;
  /** Of an IPv6 socket: without it, IPv4 arrives there as well. */
  readonly isIpv6Only?: boolean;
  /** Empty: any address. */
  readonly address: string;
  readonly port: number;
  /** Other sockets may have the same address and port, and each gets the datagrams of some senders. */
  readonly reusesPort?: boolean;
  /** The only peer. */
  readonly remote?: ServerAddress | undefined;
  /** Answers leave from the address that their query was sent to; for a socket on all addresses. */
  readonly answersFromSameAddress?: boolean;
  /** Datagrams of a sender that sends several as one may come merged; the hub takes them apart. */
  readonly merges?: boolean;
  readonly receiveBufferBytes: number;
  /** No ICMP message, which anyone can forge, changes the size of fragments. */
  readonly ignoresPathMtu?: boolean;
  /** Of a listener: what is counted and said when more arrives than can be answered. */
  readonly overload?:
    | { readonly counters: ListenerCounters; readonly onOverload: (text: string) => void }
    | undefined;
  /** The first socket of the same address and port. */
  readonly beside?: BatchSocket;
}

/** Receives what arrives at a socket. */
interface SocketHandler {
  /** A datagram is in this slot of the hub's inbox, during the call. What is behind it there can be the next one. */
  onDatagram(slot: number): void;
  /** The error of an earlier datagram, such as a port without a listener. */
  onError(): void;
  /** A datagram was dropped, because the system did not accept it. */
  onUnsent(): void;
}

interface HeldMessage {
  readonly bytes: Uint8Array;
  readonly peer: BatchPeer;
}

/** In an overload a batch of limited sources is received in one of so many turns although there is more of others. */
const TURNS = 9;
/** Of limited sources so many messages are received at once: others wait for the answers to these. */
const LIMITED_PART = 16;
/** A turn, which has a cost of its own, has so many parts, or those that begin in so long. */
const LIMITED_PARTS = 8;
const LIMITED_MS = 20;
/** Of two sockets of a port, the one for limited sources gets all. */
const ONE_CHOICE = { ipv4: oneChoice(false), ipv6: oneChoice(true) };

function oneChoice(isIpv6: boolean): SourceFilter {
  const choice = new SourceFilter({ isIpv6, first: 1, second: 1 });
  choice.writeOneChoice();
  return choice;
}

/** The two sockets of a port; it is sent from the one that was bound first. */
interface SocketPair {
  /** Gets all while there are no limits. */
  readonly limited: BatchSocket;
  readonly others: BatchSocket;
}

/** This many messages wait while the system accepts no more; further ones are dropped. */
const MAX_HELD = 256;
/** Errors of an earlier datagram, which say nothing about the current one. */
const STALE_ERRORS: ReadonlySet<number> = new Set([
  linux.ECONNREFUSED,
  linux.EHOSTUNREACH,
  linux.ENETUNREACH,
]);

/** A UDP socket of the batch engine. */
class BatchSocket implements OutboxSocket {
  readonly fd: number;
  readonly port: number;
  readonly joining: Joining | undefined;
  readonly handler: SocketHandler;
  isClosed = false;
  readonly #hub: BatchHub;
  readonly #options: BatchSocketOptions;
  readonly #watch: Watch;
  readonly #awaited: Awaited;
  readonly #held: HeldMessage[] = [];
  #hasRepeated = false;
  /** Of a listener whose port no other process may have. */
  #pair: SocketPair | undefined;
  #limits: SourceLimits | undefined;
  #turns = 0;

  /** Opens, binds and connects a socket and starts to receive; throws the system's error. */
  constructor(hub: BatchHub, options: BatchSocketOptions, handler: SocketHandler) {
    this.#hub = hub;
    this.#options = options;
    this.handler = handler;
    if (hub.offload.canJoin) this.joining = new Joining();
    const { libc } = hub;
    const type = linux.SOCK_DGRAM | linux.SOCK_NONBLOCK | linux.SOCK_CLOEXEC;
    this.fd = libc.socket(options.isIpv6 ? linux.AF_INET6 : linux.AF_INET, type, 0);
    if (this.fd < 0) throw systemError('socket', libc.errno());
    try {
      this.#setUp(options);
      this.port = this.#boundPort();
      const wait = (loop: EventLoop, timeoutMs: number) => loop.waitReadable(timeoutMs) === this.fd;
      this.#awaited = new Awaited(libc.loop, () => hub.answerAll(this), wait);
      this.#watch = libc.watch(this.fd, { readable: true }, this.#onReady);
      const { overload } = options;
      if (overload !== undefined) {
        this.#pair = this.#openPair();
        this.#limits = new SourceLimits({ port: this.#limitedPort(), ...overload });
      }
    } catch (error) {
      libc.close(this.fd);
      throw error;
    }
  }

  /** Of a listener. */
  get limits(): SourceLimits | undefined {
    return this.#options.beside?.limits ?? this.#limits;
  }

  /** Whether it is the socket of a port for others than limited sources. */
  get isForOthers(): boolean {
    return this.#pair?.others === this;
  }

  /** Whether the event loop watches it for nothing but datagrams that are received as they come. */
  get mayBeWaitedFor(): boolean {
    return !this.isClosed && this.#held.length === 0 && this.limits?.isCounting !== true;
  }

  receive(inbox: MessageArena, batchSize: number): number {
    const { libc } = this.#hub;
    const count = libc.recvmmsg(this.fd, inbox.bytes, batchSize, linux.MSG_DONTWAIT, null);
    if (count >= 0) return count;
    const errno = libc.errno();
    if (errno !== linux.EAGAIN && errno !== linux.EINTR) this.handler.onError();
    return 0;
  }

  mustWait(errno: number): boolean {
    return errno === linux.EAGAIN || errno === linux.ENOBUFS;
  }

  mayRepeat(errno: number): boolean {
    if (!STALE_ERRORS.has(errno) || this.#hasRepeated) return false;
    this.#hasRepeated = true;
    // Not immediately: the handler is in the middle of sending.
    setImmediate(() => {
      if (!this.isClosed) this.handler.onError();
    });
    return true;
  }

  hold(arena: MessageArena, slot: number): void {
    if (this.isClosed || this.#held.length >= MAX_HELD) {
      this.handler.onUnsent();
      return;
    }
    const sender = BatchPeer.inArena(arena);
    sender.pointTo(arena, slot);
    const peer = BatchPeer.copy();
    peer.copyFrom(sender);
    this.#held.push({ bytes: arena.payloads[slot]!.slice(0, arena.payloadLengthOf(slot)), peer });
    if (this.#held.length === 1)
      this.#watch.start({ readable: true, writable: true }, this.#onReady);
  }

  noteSent(): void {
    this.#hasRepeated = false;
  }

  countUnsent(): void {
    this.#hasRepeated = false;
    this.handler.onUnsent();
  }

  get #buffer(): ReceiveBuffer {
    return receiveBuffer(this.#hub.libc, this.fd, () => {
      this.#growReceiveBuffer(this.#options.receiveBufferBytes);
    });
  }

  /**
   * Opens a second socket of the port, before any other process can have one there. Usually neither has SO_REUSEPORT: then the kernel
   * gives all to one of them, and it costs nothing. Undefined where several processes share the port, and where the kernel has no
   * choice of sockets.
   */
  #openPair(): SocketPair | undefined {
    if (this.#options.reusesPort === true || !this.#setReusePort(1)) return undefined;
    const second = this.#openBeside();
    const isChosen = second !== undefined && this.#choose(ONE_CHOICE[this.#family]);
    // The kernel would give some datagrams to any socket that has it, too.
    this.#setReusePort(0);
    if (!isChosen) {
      second?.close();
      return undefined;
    }
    second.#setReusePort(0);
    const { isIpv6 } = this.#options;
    second.#pair = isIpv6 ? { limited: this, others: second } : { limited: second, others: this };
    return second.#pair;
  }

  get #ofPort(): readonly BatchSocket[] {
    return this.#pair === undefined ? [this] : [this.#pair.limited, this.#pair.others];
  }

  get #family(): 'ipv4' | 'ipv6' {
    return this.#options.isIpv6 ? 'ipv6' : 'ipv4';
  }

  #setReusePort(value: 0 | 1): boolean {
    return this.#setOption(linux.SOL_SOCKET, linux.SO_REUSEPORT, value);
  }

  #openBeside(): BatchSocket | undefined {
    try {
      return new BatchSocket(
        this.#hub,
        {
          ...this.#options,
          port: this.port,
          reusesPort: true,
          overload: undefined,
          beside: this,
        },
        this.handler,
      );
    } catch {
      return undefined;
    }
  }

  #choose(choice: SourceFilter): boolean {
    return attachProgram(this.#hub.libc, this.fd, linux.SO_ATTACH_REUSEPORT_CBPF, choice);
  }

  #limitedPort(): LimitedPort {
    const { libc } = this.#hub;
    const { isIpv6 } = this.#options;
    const pair = this.#pair;
    const { limited, others } = pair ?? { limited: this, others: undefined };
    const { fd } = limited;
    const setReusePort = (value: 0 | 1) =>
      limited.#setReusePort(value) && others!.#setReusePort(value);
    const detach = () => {
      if (pair !== undefined) {
        this.#choose(ONE_CHOICE[this.#family]);
        setReusePort(0);
      }
      libc.setsockopt(fd, linux.SOL_SOCKET, linux.SO_DETACH_FILTER, Int32Array.of(0), 4);
    };
    const attach = (filter: SourceFilter, choice: SourceFilter) => {
      if (!attachProgram(libc, fd, linux.SO_ATTACH_FILTER, filter)) return false;
      return pair === undefined || (this.#choose(choice) && setReusePort(1));
    };
    return { isIpv6, buffer: limited.#buffer, others: others && others.#buffer, attach, detach };
  }

  /** See `DatagramSocket.leavePort`. */
  leavePort(): void {
    // The system skips a connected socket when it chooses one of a port (SO_REUSEPORT).
    const { address, isIpv6 } = this.#options;
    for (const each of this.#ofPort) each.#connect(address, DISCARD_PORT, isIpv6);
  }

  /** May be called twice. */
  close(): void {
    if (this.isClosed) return;
    this.#hub.flush();
    this.isClosed = true;
    this.#held.length = 0;
    if (this.#limits !== undefined) for (const each of this.#ofPort) each.close();
    this.#limits?.close();
    this.#watch.close();
    this.#hub.libc.close(this.fd);
  }

  /** Called by the event loop, where an exception would be lost. */
  readonly #onReady = (status: number, { readable, writable }: ReadyEvents): void => {
    if (this.isClosed) return;
    try {
      if (writable) this.#sendHeld();
      if (readable || status < 0) this.#receive();
      // The event loop stops watching a descriptor that has an error; `drain` has read that error.
      if (status < 0) this.#watchOn();
    } catch (error) {
      setImmediate(() => {
        throw error;
      });
    }
  };

  #receive(): void {
    const { limits } = this;
    const pair = this.#pair;
    if (limits?.isCounting !== true) this.#awaited.serve();
    else if (pair === undefined) this.#hub.drain(this, 1);
    else this.#receiveInOrder(pair, limits.isLimiting);
  }

  /** A batch in each turn of the event loop, as an answer may take long. */
  #receiveInOrder({ limited, others }: SocketPair, isLimiting: boolean): void {
    const isTurn = ++limited.#turns % TURNS === 0;
    if (!this.#hub.drain(others, 1) && !isTurn) return;
    if (isLimiting) limited.#drainLimited(others);
    else this.#hub.drain(limited, 1);
  }

  /** What others ask meanwhile is answered after each part. */
  #drainLimited(others: BatchSocket): void {
    const endMs = performance.now() + LIMITED_MS;
    for (let parts = 0; parts < LIMITED_PARTS && performance.now() < endMs; parts++) {
      if (this.#hub.drain(this, 1, LIMITED_PART) || !this.#hub.drain(others, 1)) return;
    }
  }

  #sendHeld(): void {
    const held = this.#held.splice(0);
    for (const { bytes, peer } of held) this.#hub.outgoing.push(this, bytes, bytes.length, peer);
    this.#hub.flush();
    if (this.#held.length === 0) this.#watchOn();
  }

  #watchOn(): void {
    if (this.isClosed) return;
    this.#watch.start({ readable: true, writable: this.#held.length > 0 }, this.#onReady);
  }

  #setUp({ isIpv6, address, port, remote, ...options }: BatchSocketOptions): void {
    this.#growReceiveBuffer(options.receiveBufferBytes);
    // Independent of the system's default.
    if (isIpv6) {
      const isIpv6Only = options.isIpv6Only === true ? 1 : 0;
      this.#setOption(linux.IPPROTO_IPV6, linux.IPV6_V6ONLY, isIpv6Only);
    }
    if (options.answersFromSameAddress === true) {
      if (isIpv6) this.#setOption(linux.IPPROTO_IPV6, linux.IPV6_RECVPKTINFO, 1);
      else this.#setOption(linux.IPPROTO_IP, linux.IP_PKTINFO, 1);
    }
    if (options.ignoresPathMtu === true) {
      // A kernel without it sends as it did.
      if (isIpv6) {
        const { IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_OMIT } = linux;
        this.#setOption(IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_OMIT);
      } else this.#setOption(linux.IPPROTO_IP, linux.IP_MTU_DISCOVER, linux.IP_PMTUDISC_OMIT);
    }
    if (options.merges === true && this.#hub.offload.canMerge) {
      this.#setOption(linux.SOL_UDP, linux.UDP_GRO, 1);
    }
    if (options.reusesPort === true && !this.#setOption(linux.SOL_SOCKET, linux.SO_REUSEPORT, 1)) {
      throw systemError('setsockopt', this.#hub.libc.errno());
    }
    const own = encodeSocketName(address || (isIpv6 ? '::' : '0.0.0.0'), port, isIpv6);
    const { libc } = this.#hub;
    if (libc.bind(this.fd, own, own.length) < 0) throw systemError('bind', libc.errno());
    if (remote === undefined) return;
    const isConnected = this.#connect(remote.address, remote.port, isIpv6);
    if (!isConnected) throw systemError('connect', libc.errno());
  }

  #connect(address: string, port: number, isIpv6: boolean): boolean {
    const name = encodeSocketName(address, port, isIpv6);
    return this.#hub.libc.connect(this.fd, name, name.length) === 0;
  }

  /** Buffers a burst while the event loop is busy; the system may grant less. */
  #growReceiveBuffer(bytes: number): void {
    // Beyond the system's limit; needs NET_ADMIN.
    if (this.#setOption(linux.SOL_SOCKET, linux.SO_RCVBUFFORCE, bytes)) return;
    this.#setOption(linux.SOL_SOCKET, linux.SO_RCVBUF, bytes);
  }

  #setOption(level: number, option: number, value: number): boolean {
    return this.#hub.libc.setsockopt(this.fd, level, option, Int32Array.of(value), 4) === 0;
  }

  #boundPort(): number {
    const { libc } = this.#hub;
    const name = new Uint8Array(MAX_NAME_BYTES);
    if (libc.getsockname(this.fd, name, Int32Array.of(name.length)) < 0) {
      throw systemError('getsockname', libc.errno());
    }
    return portOf(name);
  }
}

/** The number that four bytes of the network are, from a word of this machine, which is little-endian here. */
function networkOrder(word: number): number {
  return (word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24);
}

/** Whether the system takes several datagrams as one message (UDP_SEGMENT), and gives several as one (UDP_GRO). */
interface Offload {
  readonly canJoin: boolean;
  readonly canMerge: boolean;
  /** What is missing and why, for the log; undefined when nothing is. */
  readonly lack: string | undefined;
}

function findOffload(libc: Libc): Offload {
  const fd = libc.socket(linux.AF_INET, linux.SOCK_DGRAM | linux.SOCK_CLOEXEC, 0);
  const lacks: string[] = [];
  const has = (name: string, option: number, value: number): boolean => {
    if (libc.setsockopt(fd, linux.SOL_UDP, option, Int32Array.of(value), 4) === 0) return true;
    lacks.push(`${name}: ${getSystemErrorName(-libc.errno())}`);
    return false;
  };
  const canJoin = has('UDP_SEGMENT', linux.UDP_SEGMENT, 0);
  const canMerge = has('UDP_GRO', linux.UDP_GRO, 1);
  if (fd >= 0) libc.close(fd);
  return {
    canJoin,
    canMerge,
    lack: lacks.length === 0 ? undefined : `without ${lacks.join(', ')}`,
  };
}
