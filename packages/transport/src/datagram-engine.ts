import type { ListenerCounters } from './counters.js';

/** Where a datagram came from, and where its answer goes. Only the engine that made it looks inside. */
export interface Peer {
  readonly address: string;
  readonly port: number;
}

/** Called for each datagram; `bytes` is valid during the call. */
export type DatagramHandler = (bytes: Uint8Array, length: number, peer: Peer) => void;

/** Makes the engine of one listener; it counts there what it could not send. */
export type EngineFactory = (counters: ListenerCounters) => DatagramEngine;

/** A way to move datagrams of one UDP socket: one per system call (`dgram`) or in batches. */
export interface DatagramEngine {
  readonly name: string;
  /** The port that is bound; valid once `open` has resolved. */
  readonly port: number;
  /** Binds and starts to receive; rejects with the system's error. */
  open(address: string, port: number, onDatagram: DatagramHandler): Promise<void>;
  /** Sends a copy of `length` bytes. A datagram that cannot be sent is dropped and counted. */
  send(bytes: Uint8Array, length: number, peer: Peer): void;
  close(): Promise<void>;
}
