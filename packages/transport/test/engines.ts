import { chooseUdpEngine } from '../src/choose-udp-engine.js';
import type { UdpEngine } from '../src/udp-engine.js';

const { engine: best } = await chooseUdpEngine('auto');
const { engine: plain } = await chooseUdpEngine('dgram');

/** Every UDP engine of this machine; all pass the same tests. */
export const ENGINES: readonly (readonly [name: string, engine: UdpEngine])[] = [
  ['dgram', plain],
  ...(best.name === 'batch' ? ([['batch', best]] as const) : []),
];

/** Whether the batch engine works on this machine. */
export const HAS_BATCH = best.name === 'batch';
