import { type ApiObject, ClusterState, ClusterZone, ObjectStore } from '@kube-dns/kubedns/internal';

/** Objects as kubedns takes them from the API, of all kinds into one zone, and out of it again. */
export class ClusterSink {
  readonly #stores: readonly Pick<ObjectStore<ApiObject, never>, 'put' | 'delete'>[];
  readonly #taken: ApiObject[] = [];

  constructor() {
    const zone = new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 });
    const state = new ClusterState({ records: zone });
    const reject = () => undefined;
    this.#stores = [
      new ObjectStore(state.services, reject),
      new ObjectStore(state.endpointSlices, reject),
      new ObjectStore(state.endpoints, reject),
      new ObjectStore(state.namespaces, reject),
    ];
  }

  put(object: unknown): void {
    // What it is, is for the store to find out, of which each gets everything.
    const taken = object as ApiObject;
    for (const store of this.#stores) store.put(taken);
    this.#taken.push(taken);
  }

  delete(object: unknown): void {
    for (const store of this.#stores) store.delete(object as ApiObject);
  }

  /** Forgets all that was put, as their deletion would. Returns how many they were. */
  clear(): number {
    const count = this.#taken.length;
    for (const object of this.#taken) this.delete(object);
    this.#taken.length = 0;
    return count;
  }
}
