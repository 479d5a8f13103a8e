import { randomInt, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { alreadyExists, ApiError, forbidden, invalid, notFound } from '../errors.js';
import { keyOf, objectKey, type JsonObject, type KubeObject } from '../object.js';
import { validateMetadata } from '../resources/metadata.js';
import { PERMANENT_NAMESPACES } from '../resources/namespace.js';
import type { ResourceKind } from '../resources/resource-kind.js';
import { RESOURCE_KINDS } from '../resources/resource-table.js';
import type { ServiceAllocation } from '../resources/service/allocation.js';
import type { Service } from '../resources/service/service.js';
import type { Store } from '../store/store.js';
import { decodeObject, type DecodeOptions } from './decode.js';
import { checkPreconditions, finalizersAfterDelete, type DeleteOptions } from './deletion.js';
import { inheritMetadata, keepOtherPart, uidConflict, type WrittenPart } from './written-object.js';

/** Time in ms since the epoch. */
export type Clock = () => number;

/** How a write is done. */
export interface WriteOptions extends DecodeOptions {
  /** Default: all of the object. */
  readonly part?: WrittenPart;
  /** Everything is checked and nothing is stored. */
  readonly isDryRun?: boolean;
  /** For objects that the server writes: they are not validated. */
  readonly isTrusted?: boolean;
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
    const { object, warnings } = decodeObject(kind, value, options);
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
    keepOtherPart(kind, object, undefined, options.part ?? 'all');
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
    const { object, warnings } = decodeObject(kind, value, options);
    const { metadata } = object;
    if (metadata.name !== name) {
      const why =
        metadata.name === ''
          ? `the name of the object (${name} based on URL) was undeterminable: name must be provided`
          : `the name of the object (${metadata.name}) does not match the name on the URL (${name})`;
      throw new ApiError('BadRequest', why);
    }
    this.#setNamespace(kind, namespace, object);
    if (!previous) {
      if (metadata.uid) throw uidConflict(kind, name, metadata.uid, '');
      metadata.resourceVersion = '';
      return { ...this.create(kind, namespace, object, options), warnings };
    }
    inheritMetadata(kind, object, previous, options);
    keepOtherPart(kind, object, previous, options.part ?? 'all');
    kind.setDefaults(object, previous);
    if (!isDeepStrictEqual(kind.generationOf(object), kind.generationOf(previous))) {
      metadata.generation = (previous.metadata.generation ?? 0) + 1;
    }
    this.#check(kind, object, previous, options);
    if (isDeepStrictEqual(object, previous))
      return { object: previous, isCreated: false, warnings };
    if (options.isDryRun) return { object, isCreated: false, warnings };
    if (metadata.deletionTimestamp && !metadata.finalizers?.length) {
      this.#remove(kind, previous);
      return { object, isCreated: false, warnings };
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
    return this.update(kind, namespace, name, change(current), { ...options, isPatch: true });
  }

  /**
   * Deletes an object; with a namespace, also all objects in it. An object with finalizers is only
   * marked and is removed with its last finalizer. Returns the last or the marked state. The
   * garbage collector removes its own finalizers before this returns.
   */
  delete(
    kind: ResourceKind,
    namespace: string,
    name: string,
    options: DeleteOptions = {},
  ): KubeObject {
    const object = this.get(kind, namespace, name);
    checkPreconditions(kind, object, options);
    const isNamespace = kind.kind === 'Namespace';
    if (isNamespace && PERMANENT_NAMESPACES.includes(name)) {
      throw forbidden(kind, name, 'this namespace may not be deleted');
    }
    const finalizers = finalizersAfterDelete(object.metadata, options.propagation);
    const isMarked = finalizers.length > 0 || isNamespace;
    const after = isMarked ? this.#marked(object, finalizers) : object;
    if (options.isDryRun) return after;
    if (isMarked && !isDeepStrictEqual(after, object)) this.#store.put(kind.plural, after);
    return finalizers.length > 0 ? after : this.#remove(kind, after);
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
      const why =
        'the namespace of the provided object does not match the namespace sent on the request';
      throw new ApiError('BadRequest', why);
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
      const errors = [
        ...validateMetadata(object.metadata, kind, previous?.metadata),
        ...kind.validate(object),
      ];
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
    if (kind.kind === 'Namespace') this.#emptyNamespace(object.metadata.name);
    if (kind.kind === 'Service') this.#allocation.commit(undefined, object as Service);
    return this.#store.remove(kind.plural, keyOf(object)) ?? object;
  }

  /** The object with the mark of its deletion, and with these finalizers. */
  #marked(object: KubeObject, finalizers: string[]): KubeObject {
    const metadata = { ...object.metadata, finalizers };
    if (finalizers.length === 0) Reflect.deleteProperty(metadata, 'finalizers');
    const marked: KubeObject & JsonObject = { ...object, metadata };
    if (metadata.deletionTimestamp) return marked;
    if (metadata.generation !== undefined) metadata.generation += 1;
    metadata.deletionTimestamp = this.#timestamp();
    metadata.deletionGracePeriodSeconds = 0;
    if (object.kind === 'Namespace') marked.status = { phase: 'Terminating' };
    return marked;
  }

  #emptyNamespace(namespace: string): void {
    for (const kind of RESOURCE_KINDS.filter(({ isNamespaced }) => isNamespaced)) {
      for (const object of this.#store.list(kind.plural)) {
        if (object.metadata.namespace === namespace) this.#remove(kind, object);
      }
    }
  }
}
