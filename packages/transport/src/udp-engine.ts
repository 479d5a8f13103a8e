import { loadLibc } from './batch/libc.js';
import { BatchEngine } from './batch/batch-engine.js';
import type { ListenerCounters } from './counters.js';
import type { DatagramSocket } from './datagram-socket.js';
import { DgramEngine } from './dgram/dgram-engine.js';
import { EngineError } from './errors.js';
import type { OpenUpstreamPort } from './upstream-port.js';

export const UDP_ENGINES = ['auto', 'batch', 'dgram'] as const;
export type UdpEngineChoice = (typeof UDP_ENGINES)[number];

/** A way to move datagrams: one per system call (`dgram`) or many (`batch`). */
export interface UdpEngine {
  readonly name: 'batch' | 'dgram';
  /** A socket for a listener; it counts there what it could not send. */
  createSocket(counters: ListenerCounters): DatagramSocket;
  openUpstreamPort: OpenUpstreamPort;
  /** Runs what sends many answers to earlier queries; they leave together where that is possible. */
  sendTogether(work: () => void): void;
  /** Closes the descriptor of a listener whose thread has ended without closing it. */
  closeLeft(descriptor: number): void;
}

export interface ChosenEngine {
  readonly engine: UdpEngine;
  /** The engine's name and, when a better one cannot be had, why; for the log. */
  readonly description: string;
}

/**
 * The engine that is asked for; `auto` is the batch engine where it works. Rejects with an EngineError
 * when `batch` cannot be had.
 */
export async function chooseUdpEngine(choice: UdpEngineChoice): Promise<ChosenEngine> {
  if (choice === 'dgram') return { engine: new DgramEngine(), description: 'dgram' };
  try {
    return { engine: new BatchEngine(await loadLibc()), description: 'batch' };
  } catch (error) {
    if (!(error instanceof EngineError) || choice === 'batch') throw error;
    return { engine: new DgramEngine(), description: `dgram (${error.message})` };
  }
}
