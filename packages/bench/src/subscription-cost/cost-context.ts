import type { Owned } from '@kube-dns/testkit';
import type { ClusterSize } from '../cluster/cluster-plan.js';
import type { Series } from '../load/series.js';
import type { Programs } from '../load/server-testbed.js';

/** What the parts of the measurement share. */
export interface CostContext {
  readonly programs: Programs;
  readonly owned: Owned;
  readonly series: Series;
  /** By how many the memory of one is measured. */
  readonly subscriptions: number;
  readonly services: number;
  readonly events: number;
  readonly seconds: number;
}

/** A service in ten is headless, each has a slice. */
export function clusterSize({ services }: CostContext): ClusterSize {
  return { services, slices: services, endpointsPerSlice: 2, headless: 0.1 };
}
