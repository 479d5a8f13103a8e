import { networkInterfaces } from 'node:os';
import { EVERY_ADDRESS } from '@kube-dns/wire';
import type { ListenerCounters } from './counters.js';
import type { ServerAddress } from './server-address.js';
import type { TcpServer, TcpServerOwner } from './tcp-server.js';

export const UDP_ENGINES = ['auto', 'batch', 'dgram'] as const;
export type UdpEngineChoice = (typeof UDP_ENGINES)[number];

/** A client that asks more than its part in an overload. */
export interface LimitedClient {
  /** Its IPv4 address, or IPv6 /64. */
  readonly client: string;
  /** Datagrams a second that it sends, and of them those that are received; both are estimates. */
  readonly perSecond: number;
  readonly passing: number;
}

/** A UDP socket gets more than can be answered. */
export interface Overload {
  /** For how long. */
  readonly seconds: number;
  /** Datagrams a second that arrive, an estimate, and that are received. */
  readonly arriving: number;
  readonly answering: number;
  /** How many clients are limited, and the first ten, highest rate first. */
  readonly limited: number;
  readonly clients: readonly LimitedClient[];
}

/** A way to move datagrams, one per system call (`dgram`) or many (`batch`), and the bytes of a listener's TCP connections. */
export interface UdpEngine {
  readonly name: 'batch' | 'dgram';
  /** The number of the batch of datagrams that is handled now; 0 when none is. What is sent meanwhile can leave together. */
  readonly batch: number;
  /**
   * A socket for a listener; it counts there what it cannot send, and what is lost in an overload, whose begin and end
   * `onOverload` gets as lines for the log.
   */
  createSocket(counters: ListenerCounters, onOverload?: (text: string) => void): DatagramSocket;
  /** The TCP socket of a listener. */
  createTcpServer(owner: TcpServerOwner): TcpServer;
  openUpstreamPort: OpenUpstreamPort;
  /** Runs `work`, which sends many deferred answers; they leave in one system call where possible. */
  sendTogether(work: () => void): void;
}

/** The source of a datagram, and the destination of its answer. Only the socket that created it reads more of it. */
export interface Peer {
  readonly address: string;
  readonly port: number;
}

/** Sends nothing (RFC 863): a socket that leaves its port is connected to it. */
export const DISCARD_PORT = 9;

/** The address that a socket with this own address is connected to when it leaves its port. */
export function discardAddress(own: string): string {
  if (own !== EVERY_ADDRESS) return own;
  // This machine, in a family that it has.
  const hasIpv6 = Object.values(networkInterfaces())
    .flat()
    .some((each) => each?.family === 'IPv6');
  return hasIpv6 ? '::' : '::ffff:127.0.0.1';
}

/** Called for each datagram; `bytes` and `peer` are valid during the call. */
export type DatagramHandler = (bytes: Uint8Array, length: number, peer: Peer) => void;

/** The UDP socket of a listener, which moves datagrams as its engine does. */
export interface DatagramSocket {
  /** Where more arrives than can be answered, now; the dgram engine does not know. */
  readonly overloads: readonly Overload[];
  /** The port that is bound; valid once `open` has resolved. */
  readonly port: number;
  /**
   * 64 KiB for the answer to the current datagram: an answer written there is sent without a copy. Not the
   * same memory each time.
   */
  readonly out: Uint8Array;
  /** The same for an answer that is sent later, between two datagrams; undefined where all answers are copied. */
  readonly deferredOut?: Uint8Array;
  /**
   * Binds, as `ListenOptions.address` says, and starts to receive; rejects with the system's error. With `reusesPort`, other sockets with the
   * same option may bind the same address and port (SO_REUSEPORT); each gets the datagrams of some clients.
   */
  open(
    address: string,
    port: number,
    onDatagram: DatagramHandler,
    reusesPort?: boolean,
  ): Promise<void>;
  /**
   * The system passes further datagrams to the other sockets of the port only. Datagrams already in this
   * socket are still received, and answers are still sent.
   */
  leavePort(): void;
  /** Sends `length` bytes, which may change afterwards. A datagram that cannot be sent is dropped and counted. */
  send(bytes: Uint8Array, length: number, peer: Peer): void;
  /** Writes the bytes of a peer's address, 4 or 16, at `at`, and returns how many. */
  copyAddress(peer: Peer, to: Uint8Array, at: number): number;
  /** A peer that stays valid until it is released, for an answer that is sent later. */
  retain(peer: Peer): Peer;
  release(peer: Peer): void;
  close(): Promise<void>;
}

export interface UpstreamPortOptions {
  /** 0: the system chooses one. */
  readonly port: number;
  /** The address to send from; without one the system chooses. */
  readonly sourceAddress: string | undefined;
  /** The only server that is asked from this port; without one it is for all servers of the family. */
  readonly server: ServerAddress | undefined;
  readonly isIpv6: boolean;
}

/** Receives what arrives at a port. */
export interface PortOwner {
  /** A datagram; the bytes are valid during the call, and may be changed. A port with a server receives only from that server. */
  onDatagram(bytes: Buffer, from: Peer): void;
  /** The system says that the port's server cannot be reached, or has no such port. */
  onUnreachable(): void;
}

/** A UDP port that queries are sent from. */
export interface UpstreamPort {
  /** Sends a copy, now or within the turn of the event loop. A query that cannot be sent is lost. */
  send(query: Uint8Array, server: ServerAddress): void;
  /** The owner is not called afterwards. May be called twice. */
  close(): void;
}

/** Undefined when the system refuses the port or the address. */
export type OpenUpstreamPort = (
  options: UpstreamPortOptions,
  owner: PortOwner,
) => UpstreamPort | undefined;
