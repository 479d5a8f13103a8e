// The tables of FAULTS.md.
export { API_ROWS } from './faults/api-rows.js';
export { CONFIG_ROWS } from './faults/config-rows.js';
export { LIMIT_ROWS } from './faults/limit-rows.js';
export { NETWORK_ROWS } from './faults/network-rows.js';
export { NODE_CACHE_ROWS } from './faults/node-cache-rows.js';
export { PORT_ROWS } from './faults/port-rows.js';
export { PROCESS_ROWS } from './faults/process-rows.js';
export { SUBSCRIPTION_ROWS } from './faults/subscription-rows.js';
export { UPSTREAM_ROWS } from './faults/upstream-rows.js';
