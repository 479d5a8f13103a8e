import { getSystemErrorName } from 'node:util';
import { DISCARD_PORT } from '../datagram-socket.js';
import type { BatchHub, HubSocket } from './batch-hub.js';
import * as linux from './constants.js';
import { Joining } from './joining.js';
import type { ReadyEvents, Watch } from './libc.js';
import type { MessageArena } from './message-arena.js';
import type { OutboxSocket } from './outbox.js';
import { encodeSocketName, MAX_NAME_BYTES, portOf } from './socket-name.js';
import { BatchPeer } from './batch-peer.js';

export interface BatchSocketOptions {
  readonly isIpv6: boolean;
  /** Of an IPv6 socket: without it, IPv4 arrives there as well. */
  readonly isIpv6Only?: boolean;
  /** Empty: any address. */
  readonly address: string;
  readonly port: number;
  /** Other sockets may have the same address and port, and each gets the datagrams of some senders. */
  readonly reusesPort?: boolean;
  /** The only peer. */
  readonly remote?: { readonly address: string; readonly port: number };
  /** Answers leave from the address that their query was sent to; for a socket on all addresses. */
  readonly answersFromSameAddress?: boolean;
  /** Datagrams of a sender that sends several as one may come merged; the hub takes them apart. */
  readonly merges?: boolean;
  readonly receiveBufferBytes: number;
}

/** Is notified by a socket. */
export interface SocketOwner {
  /** A datagram is in this slot of the hub's inbox, during the call. */
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

/** This many messages wait while the system accepts no more; further ones are dropped. */
const MAX_HELD = 256;
/** Errors of an earlier datagram, which say nothing about the current one. */
const STALE_ERRORS: ReadonlySet<number> = new Set([
  linux.ECONNREFUSED,
  linux.EHOSTUNREACH,
  linux.ENETUNREACH,
]);

/** A UDP socket of the batch engine. */
export class BatchSocket implements HubSocket, OutboxSocket {
  readonly fd: number;
  readonly port: number;
  readonly joining: Joining | undefined;
  isClosed = false;
  readonly #hub: BatchHub;
  readonly #options: BatchSocketOptions;
  readonly #owner: SocketOwner;
  readonly #watch: Watch;
  readonly #held: HeldMessage[] = [];
  #hasRepeated = false;

  /** Opens, binds and connects a socket and starts to receive; throws the system's error. */
  constructor(hub: BatchHub, options: BatchSocketOptions, owner: SocketOwner) {
    this.#hub = hub;
    this.#options = options;
    this.#owner = owner;
    if (hub.offload.canJoin) this.joining = new Joining();
    const { libc } = hub;
    const type = linux.SOCK_DGRAM | linux.SOCK_NONBLOCK | linux.SOCK_CLOEXEC;
    this.fd = libc.socket(options.isIpv6 ? linux.AF_INET6 : linux.AF_INET, type, 0);
    if (this.fd < 0) throw systemError('socket', libc.errno());
    try {
      this.#setUp(options);
      this.port = this.#boundPort();
      this.#watch = libc.watch(this.fd, { readable: true }, this.#onReady);
    } catch (error) {
      libc.close(this.fd);
      throw error;
    }
  }

  receive(inbox: MessageArena): number {
    const { libc } = this.#hub;
    const count = libc.recvmmsg(
      this.fd,
      inbox.bytes,
      inbox.payloads.length,
      linux.MSG_DONTWAIT,
      null,
    );
    if (count >= 0) return count;
    const errno = libc.errno();
    if (errno !== linux.EAGAIN && errno !== linux.EINTR) this.#owner.onError();
    return 0;
  }

  take(slot: number): void {
    this.#owner.onDatagram(slot);
  }

  mustWait(errno: number): boolean {
    return errno === linux.EAGAIN || errno === linux.ENOBUFS;
  }

  mayRepeat(errno: number): boolean {
    if (!STALE_ERRORS.has(errno) || this.#hasRepeated) return false;
    this.#hasRepeated = true;
    // Not immediately: the owner is in the middle of sending.
    setImmediate(() => {
      if (!this.isClosed) this.#owner.onError();
    });
    return true;
  }

  hold(arena: MessageArena, slot: number): void {
    if (this.isClosed || this.#held.length >= MAX_HELD) {
      this.#owner.onUnsent();
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
    this.#owner.onUnsent();
  }

  /** See `DatagramSocket.leavePort`. */
  leavePort(): void {
    // The system skips a connected socket when it chooses one of a port (SO_REUSEPORT).
    const { address, isIpv6 } = this.#options;
    this.#connect(address, DISCARD_PORT, isIpv6);
  }

  /** May be called twice. */
  close(): void {
    if (this.isClosed) return;
    this.#hub.flush();
    this.isClosed = true;
    this.#held.length = 0;
    this.#watch.close();
    this.#hub.libc.close(this.fd);
  }

  /** Called by the event loop, where an exception would be lost. */
  readonly #onReady = (status: number, { readable, writable }: ReadyEvents): void => {
    if (this.isClosed) return;
    try {
      if (writable) this.#sendHeld();
      if (readable || status < 0) this.#hub.drain(this);
      // The event loop stops watching a descriptor that has an error; `drain` has read that error.
      if (status < 0) this.#watchOn();
    } catch (error) {
      setImmediate(() => {
        throw error;
      });
    }
  };

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

/** An error as Node throws it. */
function systemError(syscall: string, errno: number): NodeJS.ErrnoException {
  const code = getSystemErrorName(-errno);
  return Object.assign(new Error(`${syscall} ${code}`), { code, errno: -errno, syscall });
}
