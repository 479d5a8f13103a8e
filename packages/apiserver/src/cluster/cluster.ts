import {
  keyOf,
  objectKey,
  type JsonObject,
  type KubeObject,
  type Manifest,
  type OwnerReference,
} from '../object.js';
import { PERMANENT_NAMESPACES, INITIAL_NAMESPACES } from '../resources/core-kinds.js';
import {
  SERVICE_NAME_LABEL,
  type EndpointAddress,
  type Endpoints,
  type EndpointSlice,
  type EndpointSubset,
} from '../resources/endpoints.js';
import type { IpFamily, IpRange } from '../resources/ip.js';
import type { ResourceKind } from '../resources/resource-kind.js';
import { findKind, kindNamed, RESOURCE_KINDS, type KindName } from '../resources/resource-table.js';
import { ServiceAllocation } from '../resources/service-allocation.js';
import type { Service } from '../resources/service.js';
import { Store, type StoreEvent, type StoreContents } from '../store.js';
import { COLLECTOR_FINALIZERS, Registry, type Clock } from './registry.js';

/** Label of Endpoints that are not mirrored. */
const SKIP_MIRROR_LABEL = 'endpointslice.kubernetes.io/skip-mirror';

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
class EndpointsMirror {
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
    const endpoints: Endpoints | undefined = this.#store.get('endpoints', key);
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

const NAMESPACE = 'default';
const NAME = 'kubernetes';
const LABELS = { component: 'apiserver', provider: 'kubernetes' };

/** Source: pkg/controlplane/controller/kubernetesservice. */
function kubernetesService(clusterIp: string): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: NAME, namespace: NAMESPACE, labels: LABELS },
    spec: {
      clusterIP: clusterIp,
      ports: [{ name: 'https', port: 443, targetPort: 6443, protocol: 'TCP' }],
    },
  };
}

function kubernetesEndpoints(address: string, port: number): Manifest[] {
  const ports = [{ name: 'https', port, protocol: 'TCP' }];
  return [
    {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: NAME, namespace: NAMESPACE, labels: { [SKIP_MIRROR_LABEL]: 'true' } },
      subsets: [{ addresses: [{ ip: address }], ports }],
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: NAME, namespace: NAMESPACE, labels: { [SERVICE_NAME_LABEL]: NAME } },
      addressType: address.includes(':') ? 'IPv6' : 'IPv4',
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
      ports,
    },
  ];
}

/** The addresses of the API server itself. */
interface ServerAddress {
  readonly clusterIp: string;
  readonly address: string;
  readonly port: number;
}

/**
 * Creates the service `kubernetes` in `default` with its endpoints where they are missing, and creates
 * again each of them that is deleted.
 */
function maintainKubernetesService(
  store: Store,
  registry: Registry,
  { clusterIp, address, port }: ServerAddress,
): void {
  for (const manifest of [kubernetesService(clusterIp), ...kubernetesEndpoints(address, port)]) {
    const kind = kindNamed(manifest.kind as KindName);
    // Trusted, because the server may have a loopback address.
    const create = () => registry.create(kind, NAMESPACE, manifest, { isTrusted: true });
    if (!store.get(kind.plural, objectKey(NAMESPACE, NAME))) create();
    store.subscribe(kind.plural, ({ type, object }) => {
      if (type === 'DELETED' && keyOf(object) === objectKey(NAMESPACE, NAME)) create();
    });
  }
}

const { Foreground, Orphan } = COLLECTOR_FINALIZERS;

/** Where a dependent is stored. */
interface Location {
  readonly kind: ResourceKind;
  readonly key: string;
}

function ownersOf(object: KubeObject | undefined): readonly OwnerReference[] {
  return object?.metadata.ownerReferences ?? [];
}

/**
 * Deletes the dependents of deleted objects, or releases them, and removes the finalizers with which
 * a delete asks for that. It acts within the write that it follows, so a delete that waits for it is
 * over when it is answered. Unlike the real one it leaves alone what names an owner that never was.
 * Source: pkg/controller/garbagecollector.
 */
class GarbageCollector {
  readonly #store: Store;
  readonly #registry: Registry;
  /** The dependents by the UID of their owner, and by their location. */
  readonly #dependents = new Map<string, Map<string, Location>>();

  constructor(store: Store, registry: Registry) {
    this.#store = store;
    this.#registry = registry;
    for (const kind of RESOURCE_KINDS) {
      for (const object of store.list(kind.plural)) this.#index(kind, object);
      store.subscribe(kind.plural, (event) => this.#follow(kind, event));
    }
  }

  #follow(kind: ResourceKind, { type, object, previous }: StoreEvent): void {
    const key = keyOf(object);
    for (const { uid } of ownersOf(previous)) {
      this.#dependents.get(uid)?.delete(`${kind.plural} ${key}`);
    }
    if (type === 'DELETED') {
      this.#collect(object.metadata.uid);
      this.#dependents.delete(object.metadata.uid);
      for (const owner of ownersOf(object)) this.#finishOwner(object, owner);
      return;
    }
    this.#index(kind, object);
    if (object.metadata.deletionTimestamp) this.#finish(kind, key);
  }

  #index(kind: ResourceKind, object: KubeObject): void {
    const key = keyOf(object);
    for (const { uid } of ownersOf(object)) {
      let locations = this.#dependents.get(uid);
      if (!locations) this.#dependents.set(uid, (locations = new Map<string, Location>()));
      locations.set(`${kind.plural} ${key}`, { kind, key });
    }
  }

  /** Ends the deletion of an object that waits for this collector, if it may end. */
  #finish(kind: ResourceKind, key: string): void {
    const object = this.#store.get(kind.plural, key);
    const { uid, deletionTimestamp, finalizers = [] } = object?.metadata ?? {};
    if (!object || uid === undefined || deletionTimestamp === undefined) return;
    if (finalizers.includes(Orphan)) this.#release(uid);
    else if (finalizers.includes(Foreground)) this.#collect(uid);
    else return;
    if (finalizers.includes(Foreground) && this.#isBlocked(uid)) return;
    // Removes the finalizers of this collector, and the object when no other is left.
    const { namespace = '', name } = object.metadata;
    this.#registry.delete(kind, namespace, name, { propagation: 'Background' });
  }

  #finishOwner({ metadata: { namespace } }: KubeObject, owner: OwnerReference): void {
    const kind = findKind(owner.apiVersion, owner.kind);
    if (!kind) return;
    this.#finish(kind, objectKey(kind.isNamespaced ? namespace : '', owner.name));
  }

  #dependentsOf(uid: string): readonly { kind: ResourceKind; object: KubeObject }[] {
    return [...(this.#dependents.get(uid)?.values() ?? [])].flatMap(({ kind, key }) => {
      const object = this.#store.get(kind.plural, key);
      return object ? [{ kind, object }] : [];
    });
  }

  #isBlocked(uid: string): boolean {
    return this.#dependentsOf(uid).some(({ object }) =>
      ownersOf(object).some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true),
    );
  }

  /** Deletes the dependents of an owner; those with another one lose this owner. */
  #collect(uid: string): void {
    for (const { kind, object } of this.#dependentsOf(uid)) {
      const { name, namespace = '', deletionTimestamp } = object.metadata;
      const isPermanent = kind.kind === 'Namespace' && PERMANENT_NAMESPACES.includes(name);
      if (ownersOf(object).length > 1) this.#disown(kind, object, uid);
      else if (deletionTimestamp === undefined && !isPermanent) {
        this.#registry.delete(kind, namespace, name);
      }
    }
  }

  #release(uid: string): void {
    for (const { kind, object } of this.#dependentsOf(uid)) this.#disown(kind, object, uid);
  }

  #disown(kind: ResourceKind, object: KubeObject, uid: string): void {
    const ownerReferences = ownersOf(object).filter((owner) => owner.uid !== uid);
    // Only the metadata changes, so that nothing is to be checked.
    const metadata = { ...object.metadata, ownerReferences };
    if (ownerReferences.length === 0) Reflect.deleteProperty(metadata, 'ownerReferences');
    this.#store.put(kind.plural, { ...object, metadata });
  }
}

/** How a cluster is set up. */
interface ClusterOptions {
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
