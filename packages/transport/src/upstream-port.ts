import type { Peer } from './datagram-socket.js';
import type { ServerAddress } from './server-address.js';

export interface UpstreamPortOptions {
  /** 0 takes one that the system chooses at random. */
  readonly port: number;
  /** The address to send from; the system's choice without one. */
  readonly sourceAddress: string | undefined;
  /** The only server that is asked from here; without one the port is for all of the family. */
  readonly server: ServerAddress | undefined;
  readonly isIpv6: boolean;
}

/** Told what comes to a port. */
export interface PortOwner {
  /** A datagram; the bytes are the owner's. From a port with a server it can only be that server's. */
  onDatagram(bytes: Buffer, from: Peer): void;
  /** The system says that the port's server cannot be reached, or has no such port. */
  onUnreachable(): void;
}

/** A UDP port that queries leave from. */
export interface UpstreamPort {
  /** Sends a copy, now or within the turn of the event loop. What cannot be sent is lost. */
  send(query: Uint8Array, server: ServerAddress): void;
  /** Nothing is told to the owner afterwards. May be called twice. */
  close(): void;
}

/** Undefined when the system refuses the port or the address. */
export type OpenUpstreamPort = (
  options: UpstreamPortOptions,
  owner: PortOwner,
) => UpstreamPort | undefined;
