import { API_ROWS } from './api-rows.js';
import { CONFIG_ROWS } from './config-rows.js';
import type { Fault } from './fault.js';
import { LIMIT_ROWS } from './limit-rows.js';
import { NETWORK_ROWS } from './network-rows.js';
import { NODE_CACHE_ROWS } from './node-cache-rows.js';
import { PORT_ROWS } from './port-rows.js';
import { PROCESS_ROWS } from './process-rows.js';
import { SUBSCRIPTION_ROWS } from './subscription-rows.js';
import { UPSTREAM_ROWS } from './upstream-rows.js';

/** Every row, in the order of FAULTS.md. */
export const FAULTS: readonly Fault[] = [
  ...API_ROWS,
  ...NETWORK_ROWS,
  ...UPSTREAM_ROWS,
  ...CONFIG_ROWS,
  ...PROCESS_ROWS,
  ...SUBSCRIPTION_ROWS,
  ...LIMIT_ROWS,
  ...PORT_ROWS,
  ...NODE_CACHE_ROWS,
];
