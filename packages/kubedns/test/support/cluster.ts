import {
  allStores,
  ClusterState,
  type EndpointNames,
  type RecordStore,
} from '../../src/watch/projections.js';
import { type ServiceImport, serviceImports } from '../../src/watch/service-imports.js';
import { type ApiObject, ObjectStore } from '../../src/watch/store.js';
import { AnnouncedRecords, type ZoneChanges } from '../../src/subscription/announced-records.js';
import { ClusterZone } from '../../src/zone/cluster-zone.js';
import type { ImportedZone } from '../../src/zone/imported-zone.js';

/** The objects of one resource, as a ListWatch stores them, changed one at a time. */
interface Objects {
  put(object: ApiObject): void;
  delete(object: ApiObject): void;
}

/** A zone with all that the API would tell it, fed by hand. */
export class Cluster {
  readonly zone: ClusterZone;
  /** Parts of objects and whole ones that made no sense, with the reason. */
  readonly rejected: string[] = [];
  readonly services: Objects;
  readonly endpointSlices: Objects;
  readonly endpoints: Objects;
  readonly namespaces: Objects;
  readonly serviceImports: Objects;

  constructor(
    endpointNames: EndpointNames = 'hash',
    now: () => number = Date.now,
    domain = 'cluster.local.',
    onServiceChange: (key: string) => void = () => undefined,
    changes?: ZoneChanges,
    /** Gets the slices of imported services. */
    imported?: ImportedZone,
    readsZones = false,
  ) {
    this.zone = new ClusterZone({ domain, negativeTtlSeconds: 5, now });
    this.zone.listen(onServiceChange);
    const onRejected = (what: string, reason: string) => {
      this.rejected.push(`${what}: ${reason}`);
    };
    const records = changes === undefined ? this.zone : new AnnouncedRecords(this.zone, changes);
    const beside: Partial<RecordStore>[] =
      imported === undefined
        ? []
        : [
            {
              replaceSlice: (before, after) => imported.replaceSlice(before, after),
              putNamespace: (name) => imported.putNamespace(name),
              putService: (key) => imported.putService(key),
            },
          ];
    const state = new ClusterState({
      records: allStores(records, beside),
      endpointNames,
      readsImports: imported !== undefined,
      readsZones,
    });
    const { sink } = serviceImports((key, after) => imported?.putImport(key, after));
    this.serviceImports = new ObjectStore<ApiObject, ServiceImport>(sink, onRejected);
    this.services = new ObjectStore(state.services, onRejected);
    this.endpointSlices = new ObjectStore(state.endpointSlices, onRejected);
    this.endpoints = new ObjectStore(state.endpoints, onRejected);
    this.namespaces = new ObjectStore(state.namespaces, onRejected);
  }
}
