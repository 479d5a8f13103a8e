import type { Manifest } from '../object.js';
import type { IpFamily, IpRange } from '../resources/ip.js';
import { INITIAL_NAMESPACES } from '../resources/namespace.js';
import { kindNamed } from '../resources/resource-table.js';
import { ServiceAllocation } from '../resources/service/allocation.js';
import { Store } from '../store/store.js';
import { EndpointsMirror } from './endpoints-mirror.js';
import { maintainKubernetesService } from './kubernetes-service.js';
import { Registry, type Clock } from './registry.js';

/** How a cluster is set up. */
export interface ClusterOptions {
  readonly ranges: Readonly<Record<IpFamily, IpRange>>;
  readonly clock: Clock;
  readonly historyLimit: number;
}

/**
 * The version before the first write: the time of the start in microseconds, which no earlier
 * server can have reached. So a restart expires every older version, and a client that has one
 * lists again instead of missing changes.
 */
function firstRevision(): number {
  return Math.floor(1000 * (performance.timeOrigin + performance.now()));
}

/** The state of the API: objects, the rules for writes, and the objects that the server maintains. */
export class Cluster {
  readonly store: Store;
  readonly registry: Registry;
  readonly #allocation: ServiceAllocation;

  constructor({ ranges, clock, historyLimit }: ClusterOptions) {
    this.store = new Store({ revision: firstRevision(), historyLimit });
    this.#allocation = new ServiceAllocation(ranges);
    this.registry = new Registry(this.store, this.#allocation, clock);
  }

  /** Creates the objects that every cluster has; the server listens at this address. */
  start(address: string, port: number): void {
    const { store, registry } = this;
    for (const name of INITIAL_NAMESPACES) {
      const manifest: Manifest = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
      registry.create(kindNamed('Namespace'), '', manifest);
    }
    const clusterIp = this.#allocation.firstAddress;
    maintainKubernetesService(store, registry, { clusterIp, address, port });
    new EndpointsMirror(store, registry);
  }
}
