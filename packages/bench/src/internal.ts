// The tables of the README.
export { DNS, PARTS } from './commands/dns.js';
export { DNSMASQ_LOAD } from './commands/dnsmasq-load.js';
export { FAN_OUT } from './commands/fan-out.js';
export { INTERNALS } from './commands/internals.js';
export { KUBEDNS_CHANGES } from './commands/kubedns-changes.js';
export { KUBEDNS_QUERIES } from './commands/kubedns-queries.js';
export { KUBEDNS_SCALE } from './commands/kubedns-scale.js';
export { NODE_CACHE } from './commands/node-cache.js';
export { OVERLOAD } from './commands/overload.js';
export { PAGE } from './commands/page.js';
export { POD_CHANGES } from './commands/pod-changes.js';
export { QUERY_LOG } from './commands/query-log.js';
export { NAMES_BESIDE } from './commands/names-beside.js';
export { ROUTE_HOSTS } from './commands/route-hosts.js';
export { SUBSCRIPTION_COST } from './commands/subscription-cost.js';
export { WORKLOADS } from './workloads/workloads.js';
