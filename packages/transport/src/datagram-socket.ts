/** Where a datagram came from, and where its answer goes. Only the socket that made it looks inside. */
export interface Peer {
  readonly address: string;
  readonly port: number;
}

/** Nothing comes from there: what a socket is connected to that leaves its port (RFC 863). */
export const DISCARD_PORT = 9;

/** Called for each datagram; `bytes` and `peer` are valid during the call. */
export type DatagramHandler = (bytes: Uint8Array, length: number, peer: Peer) => void;

/** The UDP socket of a listener, which moves datagrams as its engine does. */
export interface DatagramSocket {
  /** The port that is bound; valid once `open` has resolved. */
  readonly port: number;
  /**
   * 64 KiB to write the answer to the datagram in hand: what is sent from there is not copied. Not the
   * same memory each time.
   */
  readonly out: Uint8Array;
  /**
   * Binds and starts to receive; rejects with the system's error. With `reusesPort` other sockets that say
   * so too may have the same address and port (SO_REUSEPORT), and each gets the datagrams of some clients.
   */
  open(
    address: string,
    port: number,
    onDatagram: DatagramHandler,
    reusesPort?: boolean,
  ): Promise<void>;
  /**
   * The system gives it no further datagrams, but the other sockets of its port; those that wait in it are
   * still received, and answers still go out.
   */
  leavePort(): void;
  /** Sends `length` bytes, which may change afterwards. What cannot be sent is dropped and counted. */
  send(bytes: Uint8Array, length: number, peer: Peer): void;
  /** A peer that stays valid until it is given back, for an answer that comes later. */
  retain(peer: Peer): Peer;
  release(peer: Peer): void;
  close(): Promise<void>;
}
