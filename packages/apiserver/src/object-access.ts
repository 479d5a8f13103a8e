import type { Cluster } from './cluster/cluster.js';
import { ApiError } from './errors.js';
import { objectKey, type KubeObject, type Manifest } from './object.js';
import type { ResourceKind } from './resources/resource-kind.js';
import {
  findKind,
  kindNamed,
  type KindName,
  type ObjectTypes,
  RESOURCE_KINDS,
} from './resources/resource-table.js';

/** Namespace of objects that name none, as in kubectl. */
const DEFAULT_NAMESPACE = 'default';

/** The full name of an object: `namespace` is empty for cluster-scoped kinds. */
export interface ObjectName {
  readonly kind: ResourceKind;
  readonly namespace: string;
  readonly name: string;
}

function namespaceOf(kind: ResourceKind, namespace = ''): string {
  if (!kind.isNamespaced) return '';
  return namespace === '' ? DEFAULT_NAMESPACE : namespace;
}

/**
 * Finds the kind and the namespace of a manifest. Throws a 404 for a kind that the server does not
 * have.
 */
export function identifyManifest({ apiVersion, kind: name, metadata }: Manifest): ObjectName {
  const kind = findKind(apiVersion, name);
  if (!kind) throw new ApiError('NotFound', `no kind "${name}" in version "${apiVersion}"`);
  const namespace = namespaceOf(kind, metadata.namespace);
  return { kind, namespace, name: metadata.name ?? '' };
}

function identify(name: KindName, namespace: string | undefined): Omit<ObjectName, 'name'> {
  const kind = kindNamed(name);
  return { kind, namespace: namespaceOf(kind, namespace) };
}

/**
 * The objects of a server for code in the same process. Writes follow the same rules as over
 * HTTP and throw the same {@link ApiError}s; unknown fields are refused. Returned objects are
 * copies.
 */
export class ObjectAccess {
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  create(manifest: Manifest): KubeObject {
    const { kind, namespace } = identifyManifest(manifest);
    const options = { fieldValidation: 'Strict' } as const;
    return structuredClone(
      this.#cluster.registry.create(kind, namespace, manifest, options).object,
    );
  }

  update(manifest: Manifest): KubeObject {
    const { kind, namespace, name } = identifyManifest(manifest);
    const options = { fieldValidation: 'Strict' } as const;
    const { object } = this.#cluster.registry.update(kind, namespace, name, manifest, options);
    return structuredClone(object);
  }

  /** Creates the object or replaces the existing one, whatever version the manifest names. */
  put(manifest: Manifest): KubeObject {
    const { kind, namespace, name } = identifyManifest(manifest);
    const metadata = { ...manifest.metadata };
    delete metadata.resourceVersion;
    delete metadata.uid;
    const bare = { ...manifest, metadata };
    const exists = name !== '' && this.#cluster.store.get(kind.plural, objectKey(namespace, name));
    return exists ? this.update(bare) : this.create(bare);
  }

  /**
   * Stores many objects without checks: nothing is validated, filled in or copied, and managed
   * fields stay. Only the version is set. The caller must not change an object afterwards. Takes
   * some 10 µs for each.
   */
  load(objects: Iterable<KubeObject>): void {
    for (const object of objects) {
      this.#cluster.registry.load(identifyManifest(object).kind, object);
    }
  }

  delete(kindName: KindName, namespace: string | undefined, name: string): KubeObject {
    const { kind, namespace: effective } = identify(kindName, namespace);
    return structuredClone(this.#cluster.registry.delete(kind, effective, name));
  }

  /** Deletes all objects of the kinds of a group. */
  deleteGroup(group: string): void {
    for (const kind of RESOURCE_KINDS.filter((each) => each.group === group)) {
      for (const { metadata } of this.#cluster.store.list(kind.plural)) {
        this.#cluster.registry.delete(kind, metadata.namespace ?? '', metadata.name);
      }
    }
  }

  get<K extends KindName>(
    kindName: K,
    namespace: string | undefined,
    name: string,
  ): ObjectTypes[K] | undefined {
    const { kind, namespace: effective } = identify(kindName, namespace);
    const object = this.#cluster.store.get(kind.plural, objectKey(effective, name));
    // The store holds under a plural name only objects of that kind.
    return structuredClone(object) as ObjectTypes[K] | undefined;
  }

  /** All objects of a kind, of one namespace when it is given, in the order of lists. */
  list<K extends KindName>(kindName: K, namespace?: string): ObjectTypes[K][] {
    const all = this.#cluster.store.list(kindNamed(kindName).plural);
    const objects = all.filter(
      ({ metadata }) => namespace === undefined || metadata.namespace === namespace,
    );
    return structuredClone(objects) as ObjectTypes[K][];
  }

  get count(): number {
    return this.#cluster.store.count();
  }
}
