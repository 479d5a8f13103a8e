import type { ListenerCounters } from './counters.js';
import type { DatagramSocket } from './datagram-socket.js';
import type { OpenUpstreamPort } from './upstream-port.js';

export const UDP_ENGINES = ['auto', 'batch', 'dgram'] as const;
export type UdpEngineChoice = (typeof UDP_ENGINES)[number];

/** A way to move datagrams: one per system call (`dgram`) or many (`batch`). */
export interface UdpEngine {
  readonly name: 'batch' | 'dgram';
  /** The number of the batch of datagrams that is handled now; 0 when none is. What is sent meanwhile can leave together. */
  readonly batch: number;
  /** A socket for a listener; it counts there what it cannot send. */
  createSocket(counters: ListenerCounters): DatagramSocket;
  openUpstreamPort: OpenUpstreamPort;
  /** Runs `work`, which sends many deferred answers; they leave in one system call where possible. */
  sendTogether(work: () => void): void;
}
