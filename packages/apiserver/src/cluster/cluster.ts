import { objectKey, type Manifest } from '../object.js';
import type { IpFamily, IpRange } from '../resources/ip.js';
import { INITIAL_NAMESPACES } from '../resources/core-kinds.js';
import { kindNamed } from '../resources/resource-table.js';
import { ServiceAllocation } from '../resources/service-allocation.js';
import type { Service } from '../resources/service.js';
import { Store, type StoreContents } from '../store.js';
import { EndpointsMirror, GarbageCollector, maintainKubernetesService } from './controllers.js';
import { Registry, type Clock } from './registry.js';

/** How a cluster is set up. */
export interface ClusterOptions {
  readonly ranges: Readonly<Record<IpFamily, IpRange>>;
  readonly clock: Clock;
  readonly historyLimit: number;
}

interface Run {
  readonly store: Store;
  readonly registry: Registry;
  readonly allocation: ServiceAllocation;
}

/**
 * The state of the API: objects, the rules for writes, and the objects that the server maintains.
 * Each start replaces it, so readers ask for `store` and `registry` anew.
 */
export class Cluster {
  readonly #options: ClusterOptions;
  #run: Run;

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.#run = this.#newRun();
  }

  get store(): Store {
    return this.#run.store;
  }

  get registry(): Registry {
    return this.#run.registry;
  }

  /**
   * Begins with these objects, by default none, and creates those that every cluster has where they
   * are missing; the server listens at this address.
   */
  start(address: string, port: number, contents?: StoreContents): void {
    this.#run = this.#newRun(contents);
    const { store, registry, allocation } = this.#run;
    for (const name of INITIAL_NAMESPACES) {
      const manifest: Manifest = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
      const kind = kindNamed('Namespace');
      if (!store.get(kind.plural, objectKey('', name))) registry.create(kind, '', manifest);
    }
    const clusterIp = allocation.firstAddress;
    maintainKubernetesService(store, registry, { clusterIp, address, port });
    new EndpointsMirror(store, registry);
    new GarbageCollector(store, registry);
  }

  #newRun(contents?: StoreContents): Run {
    const { ranges, clock, historyLimit } = this.#options;
    const store = new Store({ contents, historyLimit });
    const allocation = new ServiceAllocation(ranges);
    for (const service of store.list('services')) {
      allocation.commit(service as Service, undefined);
    }
    return { store, allocation, registry: new Registry(store, allocation, clock) };
  }
}
