import { keyOf, objectKey, type KubeObject, type OwnerReference } from '../object.js';
import { COLLECTOR_FINALIZERS } from '../resources/metadata.js';
import { PERMANENT_NAMESPACES } from '../resources/namespace.js';
import type { ResourceKind } from '../resources/resource-kind.js';
import { findKind, RESOURCE_KINDS } from '../resources/resource-table.js';
import type { StoreEvent } from '../store/event-history.js';
import type { Store } from '../store/store.js';
import type { Registry } from './registry.js';

const { Foreground, Orphan } = COLLECTOR_FINALIZERS;

/** Where a dependent is stored. */
interface Place {
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
export class GarbageCollector {
  readonly #store: Store;
  readonly #registry: Registry;
  /** The dependents by the UID of their owner, and by their place. */
  readonly #dependents = new Map<string, Map<string, Place>>();

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
      let places = this.#dependents.get(uid);
      if (!places) this.#dependents.set(uid, (places = new Map<string, Place>()));
      places.set(`${kind.plural} ${key}`, { kind, key });
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
