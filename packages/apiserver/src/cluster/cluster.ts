import type { Manifest } from '../object.js';
import type { IpFamily, IpRange } from '../resources/ip.js';
import { INITIAL_NAMESPACES } from '../resources/namespace.js';
import { kindNamed } from '../resources/resource-table.js';
import { ServiceAllocation } from '../resources/service/allocation.js';
import { Store } from '../store/store.js';
import { EndpointsMirror } from './endpoints-mirror.js';
import { keepKubernetesService } from './kubernetes-service.js';
import { Registry, type Clock } from './registry.js';

/** How a cluster is set up. */
export interface ClusterOptions {
  readonly ranges: Readonly<Record<IpFamily, IpRange>>;
  readonly clock: Clock;
  readonly historyLimit: number;
}

/**
 * The version before the first write: the time of the start in microseconds, which no server
 * before this one can have got to. So after a restart every older version is expired, and a
 * client that holds one lists again instead of missing what it cannot know of.
 */
function firstRevision(): number {
  return Math.floor(1000 * (performance.timeOrigin + performance.now()));
}

/** The state behind the API: objects, the rules for writing them and what the server keeps up. */
export class Cluster {
  readonly store: Store;
  readonly registry: Registry;
  readonly #allocation: ServiceAllocation;

  constructor({ ranges, clock, historyLimit }: ClusterOptions) {
    this.store = new Store({ revision: firstRevision(), historyLimit });
    this.#allocation = new ServiceAllocation(ranges);
    this.registry = new Registry(this.store, this.#allocation, clock);
  }

  /** Creates what every cluster has from the start; the server listens at this address. */
  start(address: string, port: number): void {
    const { store, registry } = this;
    for (const name of INITIAL_NAMESPACES) {
      const manifest: Manifest = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
      registry.create(kindNamed('Namespace'), '', manifest);
    }
    const clusterIp = this.#allocation.firstAddress;
    keepKubernetesService(store, registry, { clusterIp, address, port });
    new EndpointsMirror(store, registry);
  }
}
