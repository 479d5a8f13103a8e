// The tables of FAULTS.md.
export { API_ROWS } from './faults/api-faults.js';
export { CONFIG_ROWS } from './faults/config-faults.js';
export { LIMIT_ROWS } from './faults/limit-faults.js';
export { NETWORK_ROWS } from './faults/network-faults.js';
export { NODE_CACHE_ROWS } from './faults/node-cache-faults.js';
export { PORT_ROWS } from './faults/limit-faults.js';
export { PROCESS_ROWS } from './faults/process-faults.js';
export { SUBSCRIPTION_ROWS } from './faults/subscription-faults.js';
export { UPSTREAM_ROWS } from './faults/upstream-faults.js';
