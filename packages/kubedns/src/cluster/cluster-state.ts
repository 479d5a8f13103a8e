import type { V1Endpoints, V1EndpointSlice, V1Namespace, V1Service } from '@kubernetes/client-node';
import type { EndpointNames } from '../config/naming.js';
import {
  type EndpointSlice,
  isSameSlice,
  projectEndpointSlice,
  sliceBytes,
} from './endpoint-slice.js';
import { projectEndpoints } from './endpoints.js';
import type { Projection, ObjectSink } from './object-store.js';
import {
  checkLabels,
  isSameService,
  projectService,
  type Service,
  serviceBytes,
} from './service.js';

/** Stores projected objects for records. Its methods throw for a name that is too long for the zone. */
export interface RecordStore {
  /** A service was added, changed or deleted (undefined); `key` is `namespace/name`. */
  putService(key: string, service: Service | undefined): void;
  /** A slice was added (no `before`), changed, or deleted (no `after`). */
  replaceSlice(before: EndpointSlice | undefined, after: EndpointSlice | undefined): void;
  putNamespace(name: string, exists: boolean): void;
}

/** The resources whose objects have parts that may be left out. */
type ReadResource = 'services' | 'endpointSlices' | 'endpoints';

export interface ClusterStateOptions {
  readonly records: RecordStore;
  /** `hash` unless given. */
  readonly endpointNames?: EndpointNames;
  /** Called for each part of an object that was left out. */
  readonly onRejected?: (resource: ReadResource, key: string, reason: string) => void;
}

/** As measured, with its place in the zone. */
const NAMESPACE_BYTES = 900;

/**
 * Projects the objects of each resource on arrival, and passes changes to the record store: not those of
 * annotations, labels, nodes and other fields that are in no answer.
 */
export class ClusterState {
  readonly services: ObjectSink<V1Service, Service>;
  readonly endpointSlices: ObjectSink<V1EndpointSlice, EndpointSlice>;
  /** Endpoints objects become slices; duplicates of real slices are merged in the zone. */
  readonly endpoints: ObjectSink<V1Endpoints, EndpointSlice>;
  readonly namespaces: ObjectSink<V1Namespace, Projection>;

  constructor(options: ClusterStateOptions) {
    const { records, endpointNames: names = 'hash', onRejected } = options;
    const readingOf = (resource: ReadResource, key: string) => ({
      names,
      onRejected: (reason: string) => onRejected?.(resource, key, reason),
    });
    const replaceSlice = (_key: string, before?: EndpointSlice, after?: EndpointSlice) =>
      records.replaceSlice(before, after);
    this.services = {
      project: (key, object) => projectService(object, readingOf('services', key)),
      isSame: isSameService,
      bytesOf: serviceBytes,
      change: (key, _before, after) => records.putService(key, after),
    };
    this.endpointSlices = {
      project: (key, object) => projectEndpointSlice(object, readingOf('endpointSlices', key)),
      bytesOf: sliceBytes,
      isSame: isSameSlice,
      change: replaceSlice,
    };
    this.endpoints = {
      project: (key, object) => projectEndpoints(object, readingOf('endpoints', key)),
      bytesOf: sliceBytes,
      isSame: isSameSlice,
      change: replaceSlice,
    };
    this.namespaces = {
      project: (name) => {
        checkLabels(name);
        return { version: '', listNumber: 0 };
      },
      isSame: () => true,
      bytesOf: () => NAMESPACE_BYTES,
      change: (key, _before, after) => records.putNamespace(key, after !== undefined),
    };
  }
}
