import { randomInt, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { alreadyExists, ApiError, conflict, forbidden, invalid, notFound } from '../errors.js';
import { keyOf, objectKey, type KubeObject } from '../object.js';
import { validateMetadata } from '../resources/metadata.js';
import { PERMANENT_NAMESPACES } from '../resources/namespace.js';
import type { ResourceKind } from '../resources/resource-kind.js';
import { RESOURCE_KINDS } from '../resources/resource-table.js';
import type { ServiceAllocation } from '../resources/service/allocation.js';
import type { Service } from '../resources/service/service.js';
import type { Store } from '../store/store.js';
import { decodeObject, type FieldValidation } from './decode.js';

/** Time in ms since the epoch. */
export type Clock = () => number;

/** How a write is done. */
export interface WriteOptions {
  /** Default: Warn. */
  readonly fieldValidation?: FieldValidation;
  /** Everything is checked and nothing is stored. */
  readonly isDryRun?: boolean;
  /** For objects that the server writes: they are not validated. */
  readonly isTrusted?: boolean;
}

/** The preconditions of a delete, and whether it is only tried. */
export interface DeleteOptions {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly isDryRun?: boolean;
}

/** The result of a write. */
export interface Written {
  readonly object: KubeObject;
  readonly isCreated: boolean;
  readonly warnings: readonly string[];
}

/** Source: apiserver storage/names. */
const SUFFIX_CHARACTERS = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;
const MAX_GENERATED_BASE = 63 - SUFFIX_LENGTH;

function randomSuffix(): string {
  return Array.from(
    { length: SUFFIX_LENGTH },
    () => SUFFIX_CHARACTERS[randomInt(SUFFIX_CHARACTERS.length)],
  ).join('');
}

/**
 * The writes of the API: checks, defaults and allocations before an object is stored. Each call is
 * synchronous and atomic: it throws an {@link ApiError} or takes effect as a whole.
 */
export class Registry {
  readonly #store: Store;
  readonly #allocation: ServiceAllocation;
  readonly #clock: Clock;

  constructor(store: Store, allocation: ServiceAllocation, clock: Clock) {
    this.#store = store;
    this.#allocation = allocation;
    this.#clock = clock;
  }

  /** The stored object. Throws a 404. */
  get(kind: ResourceKind, namespace: string, name: string): KubeObject {
    const object = this.#store.get(kind.plural, objectKey(namespace, name));
    if (!object) throw notFound(kind, name);
    return object;
  }

  create(
    kind: ResourceKind,
    namespace: string,
    value: unknown,
    options: WriteOptions = {},
  ): Written {
    const { object, warnings } = decodeObject(kind, value, options.fieldValidation ?? 'Warn');
    this.#setNamespace(kind, namespace, object);
    const { metadata } = object;
    if (metadata.resourceVersion) {
      throw new ApiError(
        'BadRequest',
        'resourceVersion should not be set on objects to be created',
      );
    }
    if (metadata.name === '' && metadata.generateName) {
      metadata.name = metadata.generateName.slice(0, MAX_GENERATED_BASE) + randomSuffix();
    }
    metadata.uid = randomUUID();
    metadata.creationTimestamp = this.#timestamp();
    delete metadata.deletionTimestamp;
    delete metadata.deletionGracePeriodSeconds;
    delete metadata.generation;
    kind.setDefaults(object, undefined);
    if (kind.generationOf(object) !== undefined) metadata.generation = 1;
    this.#check(kind, object, undefined, options);
    if (this.#store.get(kind.plural, keyOf(object))) throw alreadyExists(kind, metadata.name);
    if (!options.isDryRun) this.#put(kind, object, undefined);
    return { object, isCreated: true, warnings };
  }

  update(
    kind: ResourceKind,
    namespace: string,
    name: string,
    value: unknown,
    options: WriteOptions = {},
  ): Written {
    const previous = this.#store.get(kind.plural, objectKey(namespace, name));
    if (!previous && !kind.createsOnUpdate) throw notFound(kind, name);
    const { object, warnings } = decodeObject(kind, value, options.fieldValidation ?? 'Warn');
    const { metadata } = object;
    if (metadata.name !== name) {
      throw new ApiError(
        'BadRequest',
        `the name of the object (${metadata.name}) does not match the name on the URL (${name})`,
      );
    }
    if (!previous) {
      if (metadata.resourceVersion) throw notFound(kind, name);
      return this.create(kind, namespace, value, options);
    }
    this.#setNamespace(kind, namespace, object);
    inherit(kind, object, previous);
    kind.setDefaults(object, previous);
    if (!isDeepStrictEqual(kind.generationOf(object), kind.generationOf(previous))) {
      metadata.generation = (previous.metadata.generation ?? 0) + 1;
    }
    this.#check(kind, object, previous, options);
    if (isDeepStrictEqual(object, previous))
      return { object: previous, isCreated: false, warnings };
    if (options.isDryRun) return { object, isCreated: false, warnings };
    if (metadata.deletionTimestamp && !metadata.finalizers?.length) {
      return { object: this.#remove(kind, previous), isCreated: false, warnings };
    }
    return { object: this.#put(kind, object, previous), isCreated: false, warnings };
  }

  /** Updates an object with the result of `change` for its current state. */
  patch(
    kind: ResourceKind,
    namespace: string,
    name: string,
    change: (current: KubeObject) => unknown,
    options: WriteOptions = {},
  ): Written {
    const current = this.get(kind, namespace, name);
    return this.update(kind, namespace, name, change(current), options);
  }

  /**
   * Deletes an object; with a namespace, also all objects in it. An object with finalizers is only
   * marked and is removed with its last finalizer. Returns the last or the marked state.
   */
  delete(
    kind: ResourceKind,
    namespace: string,
    name: string,
    options: DeleteOptions = {},
  ): KubeObject {
    const object = this.get(kind, namespace, name);
    const { metadata } = object;
    for (const field of ['uid', 'resourceVersion'] as const) {
      const wanted = options[field];
      if (wanted !== undefined && wanted !== metadata[field]) {
        const why = `the ${field} in the precondition (${wanted}) does not match the ${field} in record (${metadata[field]})`;
        throw conflict(kind, name, why);
      }
    }
    if (kind.kind === 'Namespace' && PERMANENT_NAMESPACES.includes(name)) {
      throw forbidden(kind, name, 'this namespace may not be deleted');
    }
    if (options.isDryRun) return object;
    if (metadata.finalizers?.length) return this.#mark(kind, object);
    if (kind.kind === 'Namespace') this.#emptyNamespace(name);
    return this.#remove(kind, object);
  }

  /**
   * Stores an object under the next version without checks, defaults or a copy; the caller must not
   * change it afterwards. The addresses of a service become allocated.
   */
  load(kind: ResourceKind, object: KubeObject): void {
    this.#put(kind, object, this.#store.get(kind.plural, keyOf(object)));
  }

  #timestamp(): string {
    return new Date(this.#clock()).toISOString().replace(/\.\d+Z$/, 'Z');
  }

  /** Sets the namespace of an object; throws when it names another one or the namespace is missing. */
  #setNamespace(kind: ResourceKind, namespace: string, object: KubeObject): void {
    const { metadata } = object;
    if (!kind.isNamespaced) {
      delete metadata.namespace;
      return;
    }
    if (metadata.namespace && metadata.namespace !== namespace) {
      throw new ApiError(
        'BadRequest',
        `the namespace of the provided object does not match the namespace sent on the request (${metadata.namespace} and ${namespace})`,
      );
    }
    metadata.namespace = namespace;
    if (!this.#store.get('namespaces', objectKey('', namespace))) {
      throw notFound({ group: '', kind: 'Namespace', plural: 'namespaces' }, namespace);
    }
  }

  #check(
    kind: ResourceKind,
    object: KubeObject,
    previous: KubeObject | undefined,
    options: WriteOptions,
  ): void {
    if (!options.isTrusted) {
      const errors = [...validateMetadata(object.metadata, kind), ...kind.validate(object)];
      if (previous) errors.push(...kind.validateUpdate(object, previous));
      if (errors.length > 0) throw invalid(kind, object.metadata.name, errors);
    }
    if (kind.kind !== 'Service') return;
    const errors = this.#allocation.admit(object as Service, previous as Service | undefined);
    if (errors.length > 0) throw invalid(kind, object.metadata.name, errors);
  }

  // The allocation is committed first: listeners of the store may write further services.
  #put(kind: ResourceKind, object: KubeObject, previous: KubeObject | undefined): KubeObject {
    if (kind.kind === 'Service') {
      this.#allocation.commit(object as Service, previous as Service | undefined);
    }
    return this.#store.put(kind.plural, object);
  }

  #remove(kind: ResourceKind, object: KubeObject): KubeObject {
    if (kind.kind === 'Service') this.#allocation.commit(undefined, object as Service);
    return this.#store.remove(kind.plural, keyOf(object)) ?? object;
  }

  #mark(kind: ResourceKind, object: KubeObject): KubeObject {
    if (object.metadata.deletionTimestamp) return object;
    const metadata = {
      ...object.metadata,
      deletionTimestamp: this.#timestamp(),
      deletionGracePeriodSeconds: 0,
    };
    return this.#store.put(kind.plural, { ...object, metadata });
  }

  #emptyNamespace(namespace: string): void {
    for (const kind of RESOURCE_KINDS.filter(({ isNamespaced }) => isNamespaced)) {
      for (const object of this.#store.list(kind.plural)) {
        if (object.metadata.namespace === namespace) this.#remove(kind, object);
      }
    }
  }
}

/** Copies the fields that a client cannot change, and checks uid and version. */
function inherit(kind: ResourceKind, object: KubeObject, previous: KubeObject): void {
  const { metadata } = object;
  const stored = previous.metadata;
  if (metadata.uid && metadata.uid !== stored.uid) {
    const why = `Precondition failed: UID in precondition: ${metadata.uid}, UID in object meta: ${stored.uid}`;
    throw conflict(kind, metadata.name, why);
  }
  if (metadata.resourceVersion && metadata.resourceVersion !== stored.resourceVersion) {
    const why =
      'the object has been modified; please apply your changes to the latest version and try again';
    throw conflict(kind, metadata.name, why);
  }
  metadata.uid = stored.uid;
  metadata.resourceVersion = stored.resourceVersion;
  metadata.creationTimestamp = stored.creationTimestamp;
  for (const field of ['deletionTimestamp', 'deletionGracePeriodSeconds', 'generation'] as const) {
    if (stored[field] === undefined) Reflect.deleteProperty(metadata, field);
    else Object.assign(metadata, { [field]: stored[field] });
  }
}
