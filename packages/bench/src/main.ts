import { commandEntry, runCommandLine } from '@kube-dns/testkit';
import { DNS } from './commands/dns.js';
import { DNSMASQ_LOAD } from './commands/dnsmasq-load.js';
import { FAN_OUT } from './commands/fan-out.js';
import { INTERNALS } from './commands/internals.js';
import { KUBEDNS_CHANGES } from './commands/kubedns-changes.js';
import { KUBEDNS_QUERIES } from './commands/kubedns-queries.js';
import { KUBEDNS_SCALE } from './commands/kubedns-scale.js';
import { NODE_CACHE } from './commands/node-cache.js';
import { POD_CHANGES } from './commands/pod-changes.js';
import { OVERLOAD } from './commands/overload.js';
import { PAGE } from './commands/page.js';
import { QUERY_LOG } from './commands/query-log.js';
import { NAMES_BESIDE } from './commands/names-beside.js';
import { ROUTE_HOSTS } from './commands/route-hosts.js';
import { STRONGEST } from './commands/strongest.js';
import { SUBSCRIPTION_COST } from './commands/subscription-cost.js';

const COMMANDS = [
  commandEntry(DNS),
  commandEntry(DNSMASQ_LOAD),
  commandEntry(FAN_OUT),
  commandEntry(INTERNALS),
  commandEntry(KUBEDNS_SCALE),
  commandEntry(KUBEDNS_CHANGES),
  commandEntry(KUBEDNS_QUERIES),
  commandEntry(NODE_CACHE),
  commandEntry(OVERLOAD),
  commandEntry(PAGE),
  commandEntry(POD_CHANGES),
  commandEntry(QUERY_LOG),
  commandEntry(ROUTE_HOSTS),
  commandEntry(NAMES_BESIDE),
  commandEntry(STRONGEST),
  commandEntry(SUBSCRIPTION_COST),
];

runCommandLine('bench', COMMANDS);
