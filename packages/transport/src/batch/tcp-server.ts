import { isIPv6 } from 'node:net';
import { copyBytes, EVERY_ADDRESS, MAX_MESSAGE_BYTES, writeUint16 } from '@kube-dns/wire';
import { holdClock, releaseClock } from '../batch-clock.js';
import { PREFIX_BYTES } from '../frame-reader.js';
import type { TcpServer, TcpServerOwner, TcpSocket, TcpSocketOwner } from '../tcp-server.js';
import { Awaited } from './awaited.js';
import { clientText, encodeSocketName, MAX_NAME_BYTES, portOf } from './batch-peer.js';
import * as linux from './constants.js';
import {
  EVENT_FD,
  EVENT_WORDS,
  type EventLoop,
  type Libc,
  systemError,
  type Watch,
} from './libc.js';
import { NAME_WORDS } from './message-arena.js';

/** Connections that the system completes before they are accepted. */
const BACKLOG = 511;
/** This many connections are accepted before others' turn. */
const MAX_ACCEPTS = 64;
/** This many connections are looked at in one turn. */
const MAX_EVENTS = 64;
/** One connection is read so often before others' turn. */
const MAX_READS = 4;
/** To change who watches whom, and back, takes as many calls as it saves in so many waits. */
const WAITS_IN_LOOP = 4;
/** The system takes so much more than a client has room for, in place of megabytes for one that does not read. */
const SYSTEM_BYTES = 64 * 1024;
const INBOX_BYTES = 64 * 1024;
/** Room for a message of any length beside others. */
const OUTBOX_BYTES = 2 * (PREFIX_BYTES + MAX_MESSAGE_BYTES);

/** What the servers of an engine use together. */
export interface TcpHub {
  readonly libc: Libc;
  readonly streams: StreamMemory;
  /** Runs `work`, and sends what waits afterwards, `streams` too. */
  together(work: () => void): void;
}

/**
 * TCP through system calls: one that reads what a client has sent, one that sends all answers to it, and none of Node's streams,
 * which cost more than both. One epoll descriptor watches all connections, and the event loop watches that.
 */
export class BatchTcpServer implements TcpServer {
  readonly hub: TcpHub;
  readonly #owner: TcpServerOwner;
  #fd = -1;
  #epoll = -1;
  /** Given back when no other descriptor is left: a connection can then be accepted, and closed, in its place. */
  #reserve = -1;
  #watch: Watch | undefined;
  /** By their descriptors. */
  readonly #sockets: (BatchTcpSocket | undefined)[] = [];
  /** A descriptor is used again: events of the one before have another number. */
  #generation = 0;
  readonly #events = new Int32Array(MAX_EVENTS * EVENT_WORDS);
  readonly #event = new Int32Array(4);
  readonly #name = new Int32Array(NAME_WORDS);
  readonly #nameBytes = new Uint8Array(this.#name.buffer);
  readonly #nameLength = new Int32Array(1);
  #toRead: BatchTcpSocket[] = [];
  readonly #closed: BatchTcpSocket[] = [];
  #isInTurn = false;
  /** Connections to accept in a turn. */
  #accepts = 1;
  /** Events that `#wait` has got. */
  #count = 0;
  /** Waits since the loop called. */
  #waits = 0;
  /** The loop whose descriptors this one watches meanwhile. */
  #enclosed: EventLoop | undefined;
  /** One of its descriptors is ready. */
  #isLoopReady = false;
  readonly #takeEvents = (): void => this.#takeAll();
  readonly #takeToRead = (): void => this.#readAll();
  readonly #readLater = (): void => void this.#runTurn(this.#takeToRead);

  constructor(hub: TcpHub, owner: TcpServerOwner) {
    this.hub = hub;
    this.#owner = owner;
  }

  // oxlint-disable-next-line typescript/require-await -- a failure to bind is a rejection
  async open(address: string, port: number, reusesPort: boolean): Promise<void> {
    try {
      this.#listen(address === EVERY_ADDRESS ? '::' : address, port, isIPv6(address), reusesPort);
      const { libc } = this.hub;
      this.#epoll = libc.epoll_create1(linux.EPOLL_CLOEXEC);
      if (this.#epoll < 0) throw systemError('epoll_create1', libc.errno());
      this.#reserve = libc.socket(linux.AF_INET, linux.SOCK_STREAM | linux.SOCK_CLOEXEC, 0);
      if (!this.#control(linux.EPOLL_CTL_ADD, this.#fd, linux.EPOLLIN, 0))
        throw systemError('epoll_ctl', libc.errno());
      const turn = () => this.#runTurn(this.#takeEvents);
      const awaited = new Awaited(libc.loop, turn, (loop, timeoutMs) =>
        this.#wait(loop, timeoutMs),
      );
      this.#watch = libc.watch(this.#epoll, { readable: true }, () => {
        awaited.serve();
        this.#leaveLoop();
      });
    } catch (error) {
      this.#closeDescriptors();
      throw error;
    }
  }

  stopAccepting(): void {
    if (this.#fd < 0) return;
    // Those that wait would be reset.
    for (let left = BACKLOG; left > 0 && this.#accept(); left--);
    this.#closeListening();
  }

  close(): Promise<void> {
    this.#watch?.close();
    this.#watch = undefined;
    this.#closeDescriptors();
    this.#reportClosed();
    return Promise.resolve();
  }

  /** Reads a connection that is no longer paused, in a later turn. */
  readSoon(socket: BatchTcpSocket): void {
    if (this.#toRead.push(socket) === 1) setImmediate(this.#readLater);
  }

  /** Has `onWritable` of a connection called as well. */
  watchWritable(socket: BatchTcpSocket): void {
    const events = SOCKET_EVENTS | linux.EPOLLOUT;
    if (!this.#control(linux.EPOLL_CTL_MOD, socket.fd, events, socket.generation)) socket.destroy();
  }

  /** A connection has closed its descriptor. */
  noteClosed(socket: BatchTcpSocket): void {
    this.#sockets[socket.fd] = undefined;
    if (this.#closed.push(socket) === 1 && !this.#isInTurn)
      process.nextTick(() => this.#reportClosed());
  }

  #readAll(): void {
    const sockets = this.#toRead;
    this.#toRead = [];
    for (const socket of sockets) socket.receive(true);
  }

  /** Returns whether nothing is left for the event loop. An exception would be lost there. */
  #runTurn(work: () => void): boolean {
    this.#isInTurn = true;
    this.#owner.onTurn();
    holdClock();
    try {
      this.hub.together(work);
      this.#reportClosed();
      const isDone = this.#toRead.length === 0 && !this.#isLoopReady && !this.#owner.needsLoop();
      return isDone && this.#epoll >= 0;
    } catch (error) {
      setImmediate(() => {
        throw error;
      });
      return false;
    } finally {
      releaseClock();
      this.#isInTurn = false;
    }
  }

  /**
   * Waits as the loop would. When it has waited some times in a row, the loop's descriptors are watched by that of the connections in
   * place of the other way round: one call then waits and says what there is.
   */
  #wait(loop: EventLoop, timeoutMs: number): boolean {
    if (this.#enclosed === undefined && (++this.#waits < WAITS_IN_LOOP || !this.#enclose(loop)))
      return loop.waitReadable(timeoutMs) === this.#epoll;
    this.#count = this.hub.libc.epoll_wait(this.#epoll, this.#events, MAX_EVENTS, timeoutMs);
    return this.#count > 0;
  }

  /** Returns whether the descriptors of the loop are watched by this one. */
  #enclose(loop: EventLoop): boolean {
    if (!this.#control(linux.EPOLL_CTL_DEL, this.#epoll, 0, 0, loop.fd)) return false;
    this.#enclosed = loop;
    if (this.#control(linux.EPOLL_CTL_ADD, loop.fd, linux.EPOLLIN, 0)) return true;
    this.#leaveLoop();
    return false;
  }

  /** The loop watches the connections again. */
  #leaveLoop(): void {
    const loop = this.#enclosed;
    this.#waits = this.#count = 0;
    this.#isLoopReady = false;
    this.#enclosed = undefined;
    if (loop === undefined || this.#epoll < 0) return;
    this.#control(linux.EPOLL_CTL_DEL, loop.fd, 0, 0);
    this.#control(linux.EPOLL_CTL_ADD, this.#epoll, linux.EPOLLIN, 0, loop.fd);
  }

  #takeAll(): void {
    if (this.#epoll < 0) return;
    const events = this.#events;
    if (this.#count <= 0)
      this.#count = this.hub.libc.epoll_wait(this.#epoll, events, MAX_EVENTS, 0);
    const count = this.#count;
    this.#count = 0;
    let isAccepting = false;
    for (let i = 0, at = 0; i < count; i++, at += EVENT_WORDS) {
      const fd = events[at + EVENT_FD]!;
      if (fd === this.#fd) {
        isAccepting = true;
        continue;
      }
      if (fd === this.#enclosed?.fd) {
        this.#isLoopReady = true;
        continue;
      }
      const socket = this.#sockets[fd];
      const generation = events[at + EVENT_FD + 1];
      if (socket !== undefined && socket.generation === generation) socket.onEvents(events[at]!);
    }
    // Afterwards: places and descriptors of connections that have closed are free again.
    this.#reportClosed();
    if (isAccepting) this.#acceptSome();
    else this.#accepts = 1;
  }

  #reportClosed(): void {
    if (this.#closed.length === 0) return;
    for (const socket of this.#closed.splice(0)) socket.reportClosed();
  }

  /** One, and more in turns that follow: most come alone, and to see that there is no other one is a call. */
  #acceptSome(): void {
    for (let left = this.#accepts; left > 0 && this.#accept(); left--);
    this.#accepts = Math.min(MAX_ACCEPTS, 2 * this.#accepts);
  }

  /** Returns whether there can be another connection. */
  #accept(): boolean {
    if (this.#fd < 0) return false;
    const { libc } = this.hub;
    this.#nameLength[0] = MAX_NAME_BYTES;
    const flags = linux.SOCK_NONBLOCK | linux.SOCK_CLOEXEC;
    const fd = libc.accept4(this.#fd, this.#nameBytes, this.#nameLength, flags);
    if (fd < 0) return this.#passOver(libc.errno());
    const generation = (this.#generation = (this.#generation + 1) | 0);
    const port = portOf(this.#nameBytes);
    const socket = new BatchTcpSocket(this, fd, generation, clientText(this.#name), port);
    this.#sockets[fd] = socket;
    this.#owner.accept(socket);
    if (socket.isClosed || this.#control(linux.EPOLL_CTL_ADD, fd, SOCKET_EVENTS, generation)) {
      return true;
    }
    socket.destroy();
    return false;
  }

  /** After an error of `accept`; returns whether there can be another connection. */
  #passOver(errno: number): boolean {
    if (errno === linux.EAGAIN) return false;
    if (errno === linux.EINTR || errno === linux.ECONNABORTED) return true;
    this.#owner.onAcceptFailure();
    if (errno !== linux.EMFILE && errno !== linux.ENFILE) return false;
    // Its client would wait, and the event loop would call at once again.
    const { libc } = this.hub;
    if (this.#reserve >= 0) libc.close(this.#reserve);
    const fd = libc.accept4(this.#fd, null, null, linux.SOCK_CLOEXEC);
    if (fd >= 0) libc.close(fd);
    this.#reserve = libc.socket(linux.AF_INET, linux.SOCK_STREAM | linux.SOCK_CLOEXEC, 0);
    return fd >= 0;
  }

  #listen(address: string, port: number, isIpv6Only: boolean, reusesPort: boolean): void {
    const { libc } = this.hub;
    const isIpv6 = isIPv6(address);
    const type = linux.SOCK_STREAM | linux.SOCK_NONBLOCK | linux.SOCK_CLOEXEC;
    this.#fd = libc.socket(isIpv6 ? linux.AF_INET6 : linux.AF_INET, type, 0);
    if (this.#fd < 0) throw systemError('socket', libc.errno());
    const set = (level: number, option: number, value: boolean) =>
      libc.setsockopt(this.#fd, level, option, Int32Array.of(value ? 1 : 0), 4) === 0;
    set(linux.SOL_SOCKET, linux.SO_REUSEADDR, true);
    // Connections that are accepted have it, too.
    set(linux.IPPROTO_TCP, linux.TCP_NODELAY, true);
    const unsent = Int32Array.of(SYSTEM_BYTES);
    libc.setsockopt(this.#fd, linux.IPPROTO_TCP, linux.TCP_NOTSENT_LOWAT, unsent, 4);
    if (isIpv6) set(linux.IPPROTO_IPV6, linux.IPV6_V6ONLY, isIpv6Only);
    if (reusesPort && !set(linux.SOL_SOCKET, linux.SO_REUSEPORT, true))
      throw systemError('setsockopt', libc.errno());
    const name = encodeSocketName(address, port, isIpv6);
    if (libc.bind(this.#fd, name, name.length) < 0) throw systemError('bind', libc.errno());
    if (libc.listen(this.#fd, BACKLOG) < 0) throw systemError('listen', libc.errno());
  }

  #control(
    operation: number,
    fd: number,
    events: number,
    generation: number,
    epoll = this.#epoll,
  ): boolean {
    const event = this.#event;
    event[0] = events;
    event[EVENT_FD] = fd;
    event[EVENT_FD + 1] = generation;
    return this.hub.libc.epoll_ctl(epoll, operation, fd, event) === 0;
  }

  #closeListening(): void {
    if (this.#fd >= 0) this.hub.libc.close(this.#fd);
    this.#fd = -1;
  }

  #closeDescriptors(): void {
    const { libc } = this.hub;
    this.#closeListening();
    if (this.#reserve >= 0) libc.close(this.#reserve);
    if (this.#epoll >= 0) libc.close(this.#epoll);
    this.#reserve = this.#epoll = -1;
  }
}

/** Each change is reported once (EPOLLET): a connection that is not read now costs no calls. */
const SOCKET_EVENTS = linux.EPOLLIN | linux.EPOLLRDHUP | linux.EPOLLET;
const ENDS = linux.EPOLLRDHUP | linux.EPOLLHUP | linux.EPOLLERR;
const BROKEN = linux.EPOLLHUP | linux.EPOLLERR;
const NO_OWNER: TcpSocketOwner = {
  onData: () => undefined,
  onDrain: () => undefined,
  onEnd: () => undefined,
  onFinish: () => undefined,
  onClosed: () => undefined,
};

/** `ending`: `end` was called, and the system has not taken all; `ended`: it has. */
type State = 'open' | 'ending' | 'ended' | 'closed';

class BatchTcpSocket implements TcpSocket {
  readonly fd: number;
  readonly generation: number;
  readonly address: string;
  readonly port: number;
  readonly #server: BatchTcpServer;
  #owner = NO_OWNER;
  #state: State = 'open';
  /** The client has ended its side. */
  #hasEnded = false;
  #isPaused = false;
  /** There can be something to receive. */
  #hasInput = false;
  /** What the system has not taken yet; made when it does not take all. */
  #unsent: Uint8Array[] | undefined;
  #unsentBytes = 0;

  constructor(
    server: BatchTcpServer,
    fd: number,
    generation: number,
    address: string,
    port: number,
  ) {
    this.#server = server;
    this.fd = fd;
    this.generation = generation;
    this.address = address;
    this.port = port;
  }

  get unsentBytes(): number {
    return this.#unsentBytes;
  }

  get needsDrain(): boolean {
    return this.#unsentBytes > 0;
  }

  get isWritable(): boolean {
    return this.#state === 'open';
  }

  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  start(owner: TcpSocketOwner): void {
    this.#owner = owner;
  }

  send(message: Uint8Array, length: number): void {
    if (this.#state === 'open') this.#server.hub.streams.add(this, message, length);
  }

  write(frames: Uint8Array): void {
    if (this.#state !== 'open') return;
    this.flush();
    this.transmit(frames, frames.length, false);
  }

  flush(): void {
    this.#server.hub.streams.flush(this);
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (this.#hasInput) this.#server.readSoon(this);
  }

  end(): void {
    if (this.#state !== 'open') return;
    this.flush();
    if (this.isClosed) return;
    this.#state = 'ending';
    if (this.#unsentBytes === 0) this.#finish();
  }

  destroy(): void {
    if (this.#state === 'closed') return;
    this.#server.hub.streams.drop(this);
    this.#state = 'closed';
    this.#unsent = undefined;
    this.#unsentBytes = 0;
    this.#server.hub.libc.close(this.fd);
    this.#server.noteClosed(this);
  }

  reset(): void {
    if (this.#state === 'closed') return;
    const { libc } = this.#server.hub;
    libc.setsockopt(this.fd, linux.SOL_SOCKET, linux.SO_LINGER, Int32Array.of(1, 0), 8);
    this.destroy();
  }

  /** For the server: epoll has reported events. */
  onEvents(events: number): void {
    if ((events & linux.EPOLLOUT) !== 0 && this.#unsentBytes > 0) this.#sendUnsent();
    const isBroken = (events & BROKEN) !== 0 && (this.#isPaused || this.#hasEnded);
    if (isBroken) this.destroy();
    else if ((events & (linux.EPOLLIN | ENDS)) !== 0) this.receive((events & ENDS) !== 0);
  }

  /**
   * For the server: reads what the client has sent, unless reading is paused. Less than there is room for is all of it; behind
   * it there can be an end that is reported already.
   */
  receive(hasEnd: boolean): void {
    const { libc, streams } = this.#server.hub;
    this.#hasInput = true;
    for (let reads = 0; reads < MAX_READS; reads++) {
      if (this.#isPaused || this.#hasEnded || this.#state === 'closed') return;
      const bytes = libc.recv(this.fd, streams.inbox, INBOX_BYTES, 0);
      if (bytes > 0) {
        this.#hasInput = hasEnd || bytes === INBOX_BYTES;
        this.#owner.onData(streams.inbox, bytes);
        if (!this.#hasInput) return;
      } else if (bytes === 0) {
        this.#onEnd();
        return;
      } else if (libc.errno() !== linux.EINTR) {
        this.#hasInput = false;
        if (libc.errno() !== linux.EAGAIN) this.destroy();
        return;
      }
    }
    this.#server.readSoon(this);
  }

  /** Sends bytes; what the system does not take is retained, as a copy when the bytes can change. */
  transmit(bytes: Uint8Array, length: number, canChange: boolean): void {
    let sent = 0;
    if (this.#unsentBytes === 0) {
      sent = this.#offer(bytes, length);
      if (sent === length || sent < 0) return;
      this.#server.watchWritable(this);
    }
    this.#hold(canChange ? bytes.slice(sent, length) : bytes.subarray(sent, length));
  }

  /** For the server. */
  reportClosed(): void {
    this.#owner.onClosed();
  }

  #onEnd(): void {
    this.#hasInput = false;
    this.#hasEnded = true;
    if (this.#state === 'ended') this.destroy();
    else this.#owner.onEnd();
  }

  #hold(bytes: Uint8Array): void {
    (this.#unsent ??= []).push(bytes);
    this.#unsentBytes += bytes.length;
  }

  /** How many bytes the system takes; -1 when the connection is closed for an error. */
  #offer(bytes: Uint8Array, length: number): number {
    const { libc } = this.#server.hub;
    const sent = libc.send(this.fd, bytes, length, linux.MSG_NOSIGNAL);
    if (sent >= 0) return sent;
    const errno = libc.errno();
    if (errno === linux.EAGAIN || errno === linux.EINTR) return 0;
    this.destroy();
    return -1;
  }

  #sendUnsent(): void {
    const unsent = this.#unsent!;
    while (unsent.length > 0) {
      const { bytes, length, count } = this.#server.hub.streams.join(unsent);
      const sent = this.#offer(bytes, length);
      if (sent < 0) return;
      this.#unsentBytes -= sent;
      if (sent === length) unsent.splice(0, count);
      else {
        dropStart(unsent, sent);
        return;
      }
    }
    if (this.#state === 'ending') this.#finish();
    else this.#owner.onDrain();
  }

  /** The end follows what was sent; `close` sends it, too. */
  #finish(): void {
    this.#state = 'ended';
    this.#owner.onFinish();
    if (this.#hasEnded || this.#server.hub.libc.shutdown(this.fd, linux.SHUT_WR) < 0)
      this.destroy();
  }
}

/** Removes so many bytes from the start of pieces, which have more. */
function dropStart(pieces: Uint8Array[], bytes: number): void {
  let left = bytes;
  let whole = 0;
  while (left >= pieces[whole]!.length) left -= pieces[whole++]!.length;
  pieces.splice(0, whole);
  pieces[0] = pieces[0]!.subarray(left);
}

/**
 * The memory that the connections of an engine use in turn: each is read, and answered, before the next. Answers to one leave
 * together.
 */
export class StreamMemory {
  /** What was received last. */
  readonly inbox = Buffer.allocUnsafeSlow(INBOX_BYTES);
  readonly #outbox = new Uint8Array(OUTBOX_BYTES);
  /** Whose answers are in the outbox. */
  #socket: BatchTcpSocket | undefined;
  #bytes = 0;

  /** Adds a message of a connection to those that leave with its next `flush`. */
  add(socket: BatchTcpSocket, message: Uint8Array, length: number): void {
    if (this.#socket !== socket || this.#bytes + PREFIX_BYTES + length > OUTBOX_BYTES) this.flush();
    if (socket.isClosed) return;
    this.#socket = socket;
    const at = this.#bytes + PREFIX_BYTES;
    writeUint16(this.#outbox, this.#bytes, length);
    copyBytes(message, 0, length, this.#outbox, at);
    this.#bytes = at + length;
  }

  /** Sends what waits, of this connection or of any. */
  flush(only?: BatchTcpSocket): void {
    const socket = this.#socket;
    if (socket === undefined || (only !== undefined && only !== socket)) return;
    const bytes = this.#bytes;
    this.#socket = undefined;
    this.#bytes = 0;
    socket.transmit(this.#outbox, bytes, true);
  }

  /** What waits for a connection that is closed is not sent. */
  drop(socket: BatchTcpSocket): void {
    if (this.#socket !== socket) return;
    this.#socket = undefined;
    this.#bytes = 0;
  }

  /** The first pieces as one, and how many they are. */
  join(pieces: readonly Uint8Array[]): { bytes: Uint8Array; length: number; count: number } {
    const first = pieces[0]!;
    if (pieces.length === 1 || first.length > OUTBOX_BYTES / 2)
      return { bytes: first, length: first.length, count: 1 };
    this.flush();
    let length = 0;
    let count = 0;
    for (const piece of pieces) {
      if (length + piece.length > OUTBOX_BYTES) break;
      this.#outbox.set(piece, length);
      length += piece.length;
      count++;
    }
    return { bytes: this.#outbox, length, count };
  }
}
