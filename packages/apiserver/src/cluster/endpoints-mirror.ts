import { keyOf, objectKey, type JsonObject, type Manifest } from '../object.js';
import { SERVICE_NAME_LABEL, type EndpointSlice } from '../resources/endpoint-slice.js';
import type { EndpointAddress, Endpoints, EndpointSubset } from '../resources/endpoints.js';
import { kindNamed } from '../resources/resource-table.js';
import type { Service } from '../resources/service/service.js';
import type { Store } from '../store/store.js';
import type { Registry } from './registry.js';

/** Label of Endpoints that are not mirrored. */
export const SKIP_MIRROR_LABEL = 'endpointslice.kubernetes.io/skip-mirror';

const MANAGED_BY_LABEL = 'endpointslice.kubernetes.io/managed-by';
const CONTROLLER = 'endpointslicemirroring-controller.k8s.io';
const LEADER_ANNOTATION = 'control-plane.alpha.kubernetes.io/leader';
const LAST_APPLIED_ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';
const MAX_ENDPOINTS = 1000;

const SLICES = kindNamed('EndpointSlice');

function toEndpoint({ ip, ...rest }: EndpointAddress, ready: boolean): JsonObject {
  return { ...rest, addresses: [ip], conditions: { ready, serving: ready } };
}

function endpointsOf(subset: EndpointSubset, isV6: boolean): JsonObject[] {
  const select = (list: readonly EndpointAddress[] = [], ready: boolean) =>
    list.filter(({ ip }) => ip.includes(':') === isV6).map((item) => toEndpoint(item, ready));
  return [...select(subset.addresses, true), ...select(subset.notReadyAddresses, false)];
}

function slicesOf(endpoints: Endpoints): Manifest[] {
  const { name, namespace = '', uid, labels, annotations } = endpoints.metadata;
  const copied = { ...annotations };
  Reflect.deleteProperty(copied, LAST_APPLIED_ANNOTATION);
  const metadata = {
    generateName: `${name}-`,
    namespace,
    labels: { ...labels, [SERVICE_NAME_LABEL]: name, [MANAGED_BY_LABEL]: CONTROLLER },
    annotations: copied,
    ownerReferences: [
      {
        apiVersion: 'v1',
        kind: 'Endpoints',
        name,
        uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  };
  const slices: Manifest[] = [];
  for (const subset of endpoints.subsets ?? []) {
    for (const addressType of ['IPv4', 'IPv6']) {
      const all = endpointsOf(subset, addressType === 'IPv6');
      for (let start = 0; start < all.length; start += MAX_ENDPOINTS) {
        slices.push({
          apiVersion: 'discovery.k8s.io/v1',
          kind: 'EndpointSlice',
          metadata,
          addressType,
          endpoints: all.slice(start, start + MAX_ENDPOINTS),
          ports: subset.ports ?? [],
        });
      }
    }
  }
  return slices;
}

function isMirrored(endpoints: Endpoints, service: Service | undefined): boolean {
  const { labels = {}, annotations = {} } = endpoints.metadata;
  if (!service || service.spec.selector) return false;
  return labels[SKIP_MIRROR_LABEL] !== 'true' && !Object.hasOwn(annotations, LEADER_ANNOTATION);
}

/**
 * Mirrors the Endpoints of services without selector into slices, as the control plane does, so
 * that clients which watch only slices see them.
 * Source: pkg/controller/endpointslicemirroring.
 */
export class EndpointsMirror {
  readonly #store: Store;
  readonly #registry: Registry;
  /** Names of the mirrored slices, by the key of their Endpoints. */
  readonly #slices = new Map<string, readonly string[]>();

  /** Begins with the slices that an earlier run has mirrored. */
  constructor(store: Store, registry: Registry) {
    this.#store = store;
    this.#registry = registry;
    for (const { metadata } of store.list('endpointslices')) {
      const { namespace, name, labels = {} } = metadata;
      if (labels[MANAGED_BY_LABEL] !== CONTROLLER) continue;
      const key = objectKey(namespace, labels[SERVICE_NAME_LABEL] ?? '');
      this.#slices.set(key, [...(this.#slices.get(key) ?? []), name]);
    }
    for (const resource of ['endpoints', 'services']) {
      store.subscribe(resource, ({ object }) => this.#reconcile(keyOf(object)));
    }
    store.subscribe('endpointslices', ({ type, object }) => {
      const { namespace, name, labels = {} } = object.metadata;
      const key = objectKey(namespace, labels[SERVICE_NAME_LABEL] ?? '');
      if (type === 'DELETED' && this.#slices.get(key)?.includes(name)) this.#reconcile(key);
    });
  }

  #reconcile(key: string): void {
    const endpoints = this.#store.get('endpoints', key) as Endpoints | undefined;
    const service = this.#store.get('services', key) as Service | undefined;
    const existing = this.#existing(key);
    const wanted = endpoints && isMirrored(endpoints, service) ? slicesOf(endpoints) : [];
    const names: string[] = [];
    for (const slice of wanted) {
      // A slice cannot change its address type, so each is matched with one of the same type.
      const index = existing.findIndex(({ addressType }) => addressType === slice.addressType);
      const [match] = index < 0 ? [] : existing.splice(index, 1);
      names.push(this.#write(slice, match));
    }
    if (names.length > 0) this.#slices.set(key, names);
    else this.#slices.delete(key);
    for (const { metadata } of existing) {
      this.#registry.delete(SLICES, metadata.namespace ?? '', metadata.name);
    }
  }

  #existing(key: string): EndpointSlice[] {
    const [namespace] = key.split('/');
    return (this.#slices.get(key) ?? []).flatMap((name) => {
      const slice = this.#store.get('endpointslices', objectKey(namespace, name));
      return slice ? [slice as EndpointSlice] : [];
    });
  }

  #write(slice: Manifest, match: EndpointSlice | undefined): string {
    const { namespace = '' } = slice.metadata;
    const options = { isTrusted: true };
    if (!match)
      return this.#registry.create(SLICES, namespace, slice, options).object.metadata.name;
    const { name } = match.metadata;
    const named = { ...slice, metadata: { ...slice.metadata, name } };
    this.#registry.update(SLICES, namespace, name, named, options);
    return name;
  }
}
