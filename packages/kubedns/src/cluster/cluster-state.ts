import type { V1Endpoints, V1EndpointSlice, V1Namespace, V1Service } from '@kubernetes/client-node';
import type { EndpointNames } from '../config/naming.js';
import { type EndpointSlice, projectEndpointSlice } from './endpoint-slice.js';
import { projectEndpoints } from './endpoints.js';
import type { Kept, ObjectSink } from './object-store.js';
import { checkLabels, projectService, type Service } from './service.js';

/** Where the cluster's objects become records. What has too long a name for the zone is refused: they throw. */
export interface RecordKeeper {
  /** A service came or changed, or is gone; `key` is `namespace/name`. */
  putService(key: string, service: Service | undefined): void;
  /** Endpoints of a service came, changed or went. */
  replaceSlice(before: EndpointSlice | undefined, after: EndpointSlice | undefined): void;
  putNamespace(name: string, exists: boolean): void;
}

export interface ClusterStateOptions {
  readonly keeper: RecordKeeper;
  /** `hash` unless said otherwise. */
  readonly endpointNames?: EndpointNames;
  /** Hears of each part of an object that was left out. */
  readonly onRejected?: (
    resource: 'endpointSlices' | 'endpoints',
    key: string,
    reason: string,
  ) => void;
}

/** What becomes of the objects of each resource: cut down on arrival, and handed on when they change. */
export class ClusterState {
  readonly services: ObjectSink<V1Service, Service>;
  readonly endpointSlices: ObjectSink<V1EndpointSlice, EndpointSlice>;
  /** Endpoints objects become slices; together with real ones the duplicates fall out in the zone. */
  readonly endpoints: ObjectSink<V1Endpoints, EndpointSlice>;
  readonly namespaces: ObjectSink<V1Namespace, Kept>;

  constructor(options: ClusterStateOptions) {
    const { keeper, endpointNames: names = 'hash', onRejected } = options;
    const readingOf = (resource: 'endpointSlices' | 'endpoints', key: string) => ({
      names,
      onRejected: (reason: string) => onRejected?.(resource, key, reason),
    });
    const replaceSlice = (_key: string, before?: EndpointSlice, after?: EndpointSlice) =>
      keeper.replaceSlice(before, after);
    this.services = {
      project: (_key, object) => projectService(object, names),
      change: (key, _before, after) => keeper.putService(key, after),
    };
    this.endpointSlices = {
      project: (key, object) => projectEndpointSlice(object, readingOf('endpointSlices', key)),
      change: replaceSlice,
    };
    this.endpoints = {
      project: (key, object) => projectEndpoints(object, readingOf('endpoints', key)),
      change: replaceSlice,
    };
    this.namespaces = {
      project: (name) => {
        checkLabels(name);
        return { version: '', listNumber: 0 };
      },
      change: (key, _before, after) => keeper.putNamespace(key, after !== undefined),
    };
  }
}
