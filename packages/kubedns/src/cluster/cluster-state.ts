import type { V1EndpointSlice, V1Namespace, V1Service } from '@kubernetes/client-node';
import { type EndpointSlice, projectEndpointSlice } from './endpoint-slice.js';
import type { ObjectSink } from './list-watch.js';
import { projectService, type Service } from './service.js';

/** Where the cluster's objects become records. */
export interface RecordKeeper {
  /** The service changed, or its slices did; `undefined` when it is gone. */
  putService(key: string, service: Service | undefined, slices: Iterable<EndpointSlice>): void;
  putNamespace(name: string, exists: boolean): void;
}

/**
 * What is known of the cluster, cut down to what DNS needs. After each event the service that it is
 * about is handed on whole, so the order of events does not matter.
 */
export class ClusterState {
  readonly #keeper: RecordKeeper;
  readonly #services = new Map<string, Service>();
  /** Slices by service, and the service of each slice: a slice may change its label. */
  readonly #slices = new Map<string, Map<string, EndpointSlice>>();
  readonly #serviceOfSlice = new Map<string, string>();

  constructor(keeper: RecordKeeper) {
    this.#keeper = keeper;
  }

  readonly services: ObjectSink<V1Service> = {
    upsert: (key, object) => {
      this.#services.set(key, projectService(object));
      this.#refresh(key);
    },
    remove: (key) => {
      this.#services.delete(key);
      this.#refresh(key);
    },
  };

  readonly endpointSlices: ObjectSink<V1EndpointSlice> = {
    upsert: (key, object) => {
      const slice = projectEndpointSlice(object);
      const serviceKey = slice.service === '' ? '' : `${slice.namespace}/${slice.service}`;
      if (this.#serviceOfSlice.get(key) !== serviceKey) this.#forgetSlice(key);
      if (serviceKey === '') return;
      const slices = this.#slices.get(serviceKey) ?? new Map<string, EndpointSlice>();
      slices.set(key, slice);
      this.#slices.set(serviceKey, slices);
      this.#serviceOfSlice.set(key, serviceKey);
      this.#refreshEndpoints(serviceKey);
    },
    remove: (key) => this.#forgetSlice(key),
  };

  readonly namespaces: ObjectSink<V1Namespace> = {
    upsert: (key) => this.#keeper.putNamespace(key, true),
    remove: (key) => this.#keeper.putNamespace(key, false),
  };

  #forgetSlice(key: string): void {
    const serviceKey = this.#serviceOfSlice.get(key);
    if (serviceKey === undefined) return;
    this.#serviceOfSlice.delete(key);
    const slices = this.#slices.get(serviceKey);
    slices?.delete(key);
    if (slices?.size === 0) this.#slices.delete(serviceKey);
    this.#refreshEndpoints(serviceKey);
  }

  /** Most slices belong to services with a cluster address, whose records they do not touch. */
  #refreshEndpoints(serviceKey: string): void {
    if (this.#services.get(serviceKey)?.kind === 'headless') this.#refresh(serviceKey);
  }

  #refresh(serviceKey: string): void {
    const slices = this.#slices.get(serviceKey)?.values() ?? [];
    this.#keeper.putService(serviceKey, this.#services.get(serviceKey), slices);
  }
}
