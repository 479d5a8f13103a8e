import { chooseUdpEngine } from '../src/choose-udp-engine.js';
import type { UdpEngine } from '../src/udp-engine.js';

const { engine: best } = await chooseUdpEngine('auto');
const { engine: plain } = await chooseUdpEngine('dgram');

/** Every UDP engine of this machine; all pass the same tests. */
export const ENGINES: readonly (readonly [name: string, engine: UdpEngine])[] = [
  ['dgram', plain],
  ...(best.name === 'batch' ? ([['batch', best]] as const) : []),
];

/** Why no test uses the batch engine here; undefined where it works. */
export const NO_BATCH = best.name === 'batch' ? undefined : 'needs Linux, and koffi for it';
