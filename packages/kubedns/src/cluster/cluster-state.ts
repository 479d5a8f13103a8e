import type { V1Endpoints, V1EndpointSlice, V1Namespace, V1Service } from '@kubernetes/client-node';
import { projectEndpoints } from './endpoints.js';
import { type EndpointSlice, projectEndpointSlice } from './endpoint-slice.js';
import type { ObjectSink } from './list-watch.js';
import { projectService, type Service } from './service.js';

/** Where the cluster's objects become records. */
export interface RecordKeeper {
  /** The service changed, or its slices did; `undefined` when it is gone. Must not throw. */
  putService(key: string, service: Service | undefined, slices: Iterable<EndpointSlice>): void;
  /** Throws when such a name cannot exist. */
  putNamespace(name: string, exists: boolean): void;
}

/**
 * What is known of the cluster, cut down to what DNS needs. After an event the service that it is about
 * is handed on whole, so the order of events does not matter. Events of one turn of the event loop (the
 * objects of one page of a list) are handed on together, before anybody can ask.
 */
export class ClusterState {
  readonly #keeper: RecordKeeper;
  readonly #services = new Map<string, Service>();
  /** Slices by service, and the service of each slice: a slice may change its label. */
  readonly #slices = new Map<string, Map<string, EndpointSlice>>();
  readonly #serviceOfSlice = new Map<string, string>();
  /** What Endpoints objects say, by service; used in place of the slices where those are denied. */
  readonly #endpoints = new Map<string, readonly EndpointSlice[]>();
  #usesEndpoints = false;
  /** Services that are to be handed on: else each of a thousand slices would do it again. */
  readonly #changed = new Set<string>();
  readonly #schedule: (work: () => void) => void;

  constructor(keeper: RecordKeeper, schedule: (work: () => void) => void = queueMicrotask) {
    this.#keeper = keeper;
    this.#schedule = schedule;
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

  readonly endpoints: ObjectSink<V1Endpoints> = {
    upsert: (key, object) => {
      this.#endpoints.set(key, projectEndpoints(object));
      this.#refreshEndpoints(key);
    },
    remove: (key) => {
      this.#endpoints.delete(key);
      this.#refreshEndpoints(key);
    },
  };

  readonly namespaces: ObjectSink<V1Namespace> = {
    upsert: (key) => this.#keeper.putNamespace(key, true),
    remove: (key) => this.#keeper.putNamespace(key, false),
  };

  /** Takes the addresses of headless services from Endpoints objects from now on. */
  useEndpoints(): void {
    this.#usesEndpoints = true;
    this.#refreshHeadless();
  }

  /** Takes them from slices, and forgets the Endpoints objects. */
  useSlices(): void {
    if (!this.#usesEndpoints) return;
    this.#usesEndpoints = false;
    this.#endpoints.clear();
    this.#refreshHeadless();
  }

  #refreshHeadless(): void {
    for (const key of this.#services.keys()) this.#refreshEndpoints(key);
  }

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
    this.#changed.add(serviceKey);
    if (this.#changed.size === 1) this.#schedule(() => this.#handOn());
  }

  #handOn(): void {
    const keys = [...this.#changed];
    this.#changed.clear();
    for (const key of keys) {
      const slices = this.#usesEndpoints
        ? this.#endpoints.get(key)
        : this.#slices.get(key)?.values();
      this.#keeper.putService(key, this.#services.get(key), slices ?? []);
    }
  }
}
