import { DOT } from './dot.js';
import { HEADLESS } from './headless.js';
import { EIGHTY_TWENTY, HITS } from './hits.js';
import { MISSES_OUTSIDE } from './misses-outside.js';
import { MISSES_ZONE } from './misses-zone.js';
import { MEMORY } from './memory.js';
import type { Part } from './part.js';
import { POD } from './pod.js';
import { QUOTA } from './quota.js';
import { DGRAM_ENGINE, KUBEDNS_SERVICES, MIXED_CLIENTS } from './services.js';
import type { Workload } from './workload.js';

/** Every workload, in the order in which they run. */
export const WORKLOADS: readonly Workload[] = [
  HITS,
  KUBEDNS_SERVICES,
  POD,
  MISSES_ZONE,
  MISSES_OUTSIDE,
  MIXED_CLIENTS,
  HEADLESS,
  DOT,
  DGRAM_ENGINE,
  EIGHTY_TWENTY,
];

/** What is measured beside them, after them. */
export const PARTS: readonly Part[] = [QUOTA, MEMORY];
