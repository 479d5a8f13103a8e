import { loadLibc } from './batch/libc.js';
import { BatchEngine } from './batch/batch-engine.js';
import { DgramEngine } from './dgram-engine.js';
import { EngineError } from './errors.js';
import type { UdpEngine, UdpEngineChoice } from './udp-engine.js';

export interface ChosenEngine {
  readonly engine: UdpEngine;
  /** The engine's name and, when a better one is not available, the reason; for the log. */
  readonly description: string;
}

/**
 * The chosen engine; `auto` is the batch engine where it works. Rejects with an EngineError when `batch`
 * is not available.
 */
export async function chooseUdpEngine(choice: UdpEngineChoice): Promise<ChosenEngine> {
  if (choice === 'dgram') return { engine: new DgramEngine(), description: 'dgram' };
  try {
    const engine = new BatchEngine(await loadLibc());
    return { engine, description: described(engine.name, engine.lack) };
  } catch (error) {
    if (!(error instanceof EngineError) || choice === 'batch') throw error;
    return { engine: new DgramEngine(), description: described('dgram', error.message) };
  }
}

function described(engine: string, lack: string | undefined): string {
  return lack === undefined ? engine : `${engine} (${lack})`;
}
