import type { EngineFactory } from '../src/datagram-engine.js';
import { DgramEngine } from '../src/dgram-engine.js';

/** Every UDP engine; all pass the same tests. */
export const ENGINES: readonly (readonly [name: string, create: EngineFactory])[] = [
  ['dgram', (counters) => new DgramEngine(counters)],
];
