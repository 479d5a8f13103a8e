import type { Fault } from './fault.js';

/** Faults between hosts. */
export const NETWORK_ROWS: readonly Fault[] = [];
