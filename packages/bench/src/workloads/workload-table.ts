import { DNSMASQ_HITS, EIGHTY_TWENTY } from './caching.js';
import { DOT } from './dot.js';
import { HEADLESS } from './headless.js';
import { SEARCH_PATH } from './search-path.js';
import { MISSES_ZONE } from './misses-zone.js';
import { DGRAM_ENGINE, KUBEDNS_SERVICES, MIXED_CLIENTS } from './services.js';
import type { Workload } from './workload.js';

/** Every workload, in the order in which they run. */
export const WORKLOADS: readonly Workload[] = [
  DNSMASQ_HITS,
  KUBEDNS_SERVICES,
  MIXED_CLIENTS,
  HEADLESS,
  MISSES_ZONE,
  DOT,
  DGRAM_ENGINE,
  EIGHTY_TWENTY,
  SEARCH_PATH,
];
