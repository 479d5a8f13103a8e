import type { NotifiedZone } from '@kube-dns/push';
import type { LocalNames } from './answer/local-names.js';
import type { KubednsFlags } from './config/flags.js';
import type { ZoneChanges } from './subscription/announced-records.js';
import type { OptionalName, OptionalResource } from './watch/optional-watch.js';
import type { RecordStore } from './watch/projections.js';
import type { ClusterZone } from './zone/cluster-zone.js';

/** What sources of names beside the cluster's zone are made of. */
export interface BesideOptions {
  readonly flags: KubednsFlags;
  /** The zone of the cluster: its namespaces, and the addresses of its DNS service. */
  readonly zone: ClusterZone;
  /** Takes the names whose records changed; a source adds those of its own. */
  readonly changes: ZoneChanges;
  /** Whether the cluster itself is known. */
  readonly isSynced: () => boolean;
  /** Whether the objects of an optional resource are known. */
  readonly isKnown: (name: OptionalName) => boolean;
}

/**
 * A source of names that kubedns answers beside the cluster's zone, and all that the other parts need to know of it: what
 * is watched for it, who applies the objects, and what is announced.
 */
export interface NamesBeside {
  /** As in snapshots: which fields of objects are stored for it. */
  readonly id: string;
  readonly names: LocalNames;
  /** What is watched for it, beside what the cluster's zone needs. */
  readonly resources: readonly OptionalResource[];
  /** Gets the services, slices and namespaces of the cluster, each after the zone has it. */
  readonly records?: Partial<RecordStore>;
  /** The zones of its names: who subscribes to one learns its changes, and NOTIFY names it. */
  readonly zones: readonly NotifiedZone[];
}

/** Each makes its source where the flags ask for it; the first that has a name answers it. */
const SOURCES: readonly ((options: BesideOptions) => NamesBeside | undefined)[] = [];

/** The sources that the flags ask for. */
export function namesBeside(options: BesideOptions): readonly NamesBeside[] {
  return SOURCES.flatMap((create) => create(options) ?? []);
}
