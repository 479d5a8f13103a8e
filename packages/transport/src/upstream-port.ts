import type { Peer } from './datagram-socket.js';
import type { ServerAddress } from './server-address.js';

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
