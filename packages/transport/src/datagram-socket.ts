import { networkInterfaces } from 'node:os';
import { EVERY_ADDRESS } from '@kube-dns/wire';

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
