import { randomInt, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  alreadyExists,
  ApiError,
  conflict,
  forbidden,
  forbiddenField,
  invalid,
  invalidValue,
  notFound,
  required,
  tooLong,
  type FieldError,
} from '../errors.js';
import {
  copyJson,
  isJsonObject,
  keyOf,
  objectKey,
  type JsonObject,
  type KubeObject,
  type ObjectMeta,
} from '../object.js';
import { refuseLabelValue, refuseQualifiedName } from '../resources/names.js';
import { PERMANENT_NAMESPACES } from '../resources/core-kinds.js';
import { apiVersionOf, hasStatus, type ResourceKind } from '../resources/resource-kind.js';
import { RESOURCE_KINDS } from '../resources/resource-table.js';
import type { ServiceAllocation } from '../resources/service-allocation.js';
import type { Service } from '../resources/service.js';
import { checkShape, isDeeperThan, OBJECT_FIELDS } from '../resources/shape.js';
import type { Store } from '../store.js';

/** The finalizers that the garbage collector removes, by the policy of the delete. */
export const COLLECTOR_FINALIZERS = {
  Foreground: 'foregroundDeletion',
  Orphan: 'orphan',
} as const;

/** Time in ms since the epoch. */
export type Clock = () => number;

/** How fields that the kind does not have are handled. Source: metav1 fieldValidation. */
export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

/** Fields that a text has twice: a warning for each, and how a refusal names them all. */
export interface DuplicateFields {
  readonly warnings: readonly string[];
  readonly refusal: string;
}

/**
 * What of an object a write changes: all of it, as code in this process does; everything but the
 * status, as a write of the object over HTTP; or only status and metadata, as one of its `status`.
 */
type WrittenPart = 'all' | 'object' | 'status';

/** How a write is done. */
export interface WriteOptions {
  /** Default: Warn. */
  readonly fieldValidation?: FieldValidation;
  /** The fields that the text of the request has twice. */
  readonly duplicates?: DuplicateFields | undefined;
  /** Whether the value is a stored object with a client's changes. */
  readonly isPatch?: boolean;
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

/** What happens to the dependents of a deleted object. */
export type Propagation = 'Background' | 'Foreground' | 'Orphan';

/** The preconditions of a delete, what it does to dependents, and whether it is only tried. */
export interface DeleteOptions {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  /** Undefined: as the finalizers of the object say, otherwise in the background. */
  readonly propagation?: Propagation | undefined;
  readonly isDryRun?: boolean;
}

/** Source: apimachinery TotalAnnotationSizeLimitB. */
const MAX_ANNOTATION_BYTES = 256 * 1024;

/** Source: apiserver storage/names. */
const SUFFIX_CHARACTERS = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;
const MAX_GENERATED_BASE = 63 - SUFFIX_LENGTH;

/** Bounds the recursion; no real object is nested as deep. */
const MAX_DEPTH = 100;
const MAX_WARNINGS = 20;
/** Metadata that clients may send and that is dropped. */
const DROPPED_METADATA = ['selfLink', 'managedFields'];
/** Metadata that is absent where it is empty, as in Go's JSON. */
const OMITTED_METADATA = ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const;

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

// What a client's value becomes

/** Why a value is of another type than its URL; undefined when it is not. */
function refuseType(
  kind: ResourceKind,
  { apiVersion, kind: name }: JsonObject,
): string | undefined {
  const expected = apiVersionOf(kind);
  if (apiVersion !== undefined && apiVersion !== '' && apiVersion !== expected) {
    return `the API version in the data (${JSON.stringify(apiVersion)}) does not match the expected API version (${expected})`;
  }
  if (name !== undefined && name !== '' && name !== kind.kind) {
    return `the kind in the data (${JSON.stringify(name)}) does not match the expected kind (${kind.kind})`;
  }
  return undefined;
}

/** The refusal of a value; the real server has another one for the result of a patch. */
function refusal(kind: ResourceKind, value: unknown, why: string, isPatch: boolean): ApiError {
  if (isPatch) {
    const nothing = { group: '', kind: '', plural: '' };
    return invalid(nothing, '', [invalidValue('patch', JSON.stringify(value), why)]);
  }
  const version = apiVersionOf(kind);
  const message = `${kind.kind} in version "${version}" cannot be handled as a ${kind.kind}: ${why}`;
  return new ApiError('BadRequest', message);
}

/**
 * Decodes a client's value as an object of a kind. Throws a 400, or a 422 for the result of a patch,
 * when it has another kind, a field has the wrong type or, with `Strict`, a field is unknown or occurs
 * twice. Defaults and validation follow later.
 */
function decodeObject(
  kind: ResourceKind,
  value: unknown,
  { fieldValidation = 'Warn', duplicates, isPatch = false }: WriteOptions,
): { readonly object: KubeObject; readonly warnings: readonly string[] } {
  // What is too deep is not shown.
  const isTooDeep = isDeeperThan(value, MAX_DEPTH);
  const refuse = (why: string) => refusal(kind, isTooDeep ? null : value, why, isPatch);
  if (isTooDeep) throw refuse(`nested deeper than ${MAX_DEPTH}`);
  if (!isJsonObject(value)) throw refuse('the body is not an object');
  const otherType = refuseType(kind, value);
  if (otherType !== undefined) throw refuse(otherType);
  const shaped = checkShape(value, { ...OBJECT_FIELDS, ...kind.shape });
  if (shaped.fault) {
    const { path, expected, found } = shaped.fault;
    throw refuse(`cannot read ${found} into field ${path} of type ${expected}`);
  }
  const unknown = shaped.unknown.map((path) => `unknown field ${JSON.stringify(path)}`);
  const warnings = [...(duplicates?.warnings ?? []), ...unknown].slice(0, MAX_WARNINGS);
  if (warnings.length > 0 && fieldValidation === 'Strict') {
    const refusals = [
      ...(duplicates ? [duplicates.refusal] : []),
      ...unknown.slice(0, MAX_WARNINGS),
    ];
    throw refuse(`strict decoding error: ${refusals.join(', ')}`);
  }
  const metadata: JsonObject = { name: '', ...(shaped.value.metadata as JsonObject | undefined) };
  for (const field of DROPPED_METADATA) Reflect.deleteProperty(metadata, field);
  for (const field of OMITTED_METADATA) {
    if (Object.keys(metadata[field] ?? {}).length === 0) Reflect.deleteProperty(metadata, field);
  }
  const object = {
    ...shaped.value,
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata,
  };
  // The shape is checked above; the registry fills in the server's fields before the object is read.
  return {
    object: object as unknown as KubeObject,
    warnings: fieldValidation === 'Warn' ? warnings : [],
  };
}

function uidConflict(kind: ResourceKind, name: string, uid: string, stored: string): Error {
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${stored}`;
  return conflict(kind, name, why);
}

/** Takes the fields that a write does not change from the stored object, if there is one. */
function keepOtherPart(
  kind: ResourceKind,
  object: KubeObject,
  previous: KubeObject | undefined,
  part: WrittenPart,
): void {
  if (part === 'all' || !hasStatus(kind) || (!previous && kind.createsWithStatus)) return;
  const written = object as unknown as JsonObject;
  const stored = previous as unknown as JsonObject | undefined;
  for (const field of Object.keys(kind.shape)) {
    const isWritten = (field === 'status') === (part === 'status' && previous !== undefined);
    if (isWritten) continue;
    if (stored?.[field] === undefined) Reflect.deleteProperty(written, field);
    // A copy, because defaults may change the object.
    else written[field] = copyJson(stored[field]);
  }
}

/**
 * Copies the metadata that a client cannot change, and checks UID and version. Throws a 409, or a
 * 422 when a patch has set another UID, or when a version is necessary and missing.
 */
function inheritMetadata(
  kind: ResourceKind,
  { metadata }: KubeObject,
  { metadata: stored }: KubeObject,
  { isPatch = false, part = 'all' }: WriteOptions,
): void {
  const { name, uid, resourceVersion } = metadata;
  if (kind.needsVersion && part !== 'all' && !resourceVersion) {
    const why = 'must be specified for an update';
    throw invalid(kind, name, [invalidValue('metadata.resourceVersion', 0, why)]);
  }
  if (uid && uid !== stored.uid) {
    if (!isPatch) throw uidConflict(kind, name, uid, stored.uid);
    throw invalid(kind, name, [invalidValue('metadata.uid', uid, 'field is immutable')]);
  }
  // Version 0 is none at all, as in every request.
  const isAny = !resourceVersion || resourceVersion === '0';
  if (!isAny && resourceVersion !== stored.resourceVersion) {
    const why =
      'the object has been modified; please apply your changes to the latest version and try again';
    throw conflict(kind, name, why);
  }
  metadata.uid = stored.uid;
  metadata.resourceVersion = stored.resourceVersion;
  metadata.creationTimestamp = stored.creationTimestamp;
  for (const field of ['deletionTimestamp', 'deletionGracePeriodSeconds', 'generation'] as const) {
    if (stored[field] === undefined) Reflect.deleteProperty(metadata, field);
    else Object.assign(metadata, { [field]: stored[field] });
  }
}

function randomSuffix(): string {
  return Array.from(
    { length: SUFFIX_LENGTH },
    () => SUFFIX_CHARACTERS[randomInt(SUFFIX_CHARACTERS.length)],
  ).join('');
}

// Checks

function validateLabels(labels: Readonly<Record<string, string>>): FieldError[] {
  return Object.entries(labels).flatMap(([key, value]) => {
    const badKey = refuseQualifiedName(key);
    const badValue = refuseLabelValue(value);
    return [
      ...(badKey ? [invalidValue('metadata.labels', key, badKey)] : []),
      ...(badValue ? [invalidValue('metadata.labels', value, badValue)] : []),
    ];
  });
}

function validateAnnotations(annotations: Readonly<Record<string, string>>): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    const reason = refuseQualifiedName(key.toLowerCase());
    if (reason) errors.push(invalidValue('metadata.annotations', key, reason));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > MAX_ANNOTATION_BYTES) {
    errors.push(tooLong('metadata.annotations', MAX_ANNOTATION_BYTES));
  }
  return errors;
}

function validateFinalizers(
  { finalizers = [] }: ObjectMeta,
  previous: ObjectMeta | undefined,
): FieldError[] {
  const path = 'metadata.finalizers';
  const errors = finalizers.flatMap((finalizer) => {
    const reason = refuseQualifiedName(finalizer);
    return reason ? [invalidValue(path, finalizer, reason)] : [];
  });
  const { Foreground, Orphan } = COLLECTOR_FINALIZERS;
  if (finalizers.includes(Foreground) && finalizers.includes(Orphan)) {
    const why = `finalizer ${Orphan} and ${Foreground} cannot be both set`;
    errors.push(invalidValue(path, finalizers, why));
  }
  const added = finalizers.filter((item) => !(previous?.finalizers ?? []).includes(item));
  if (previous?.deletionTimestamp && added.length > 0) {
    const why = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((item) => JSON.stringify(item)).join(', ')}}`;
    errors.push(forbiddenField(path, why));
  }
  return errors;
}

function validateMetadata(
  metadata: ObjectMeta,
  kind: ResourceKind,
  previous: ObjectMeta | undefined,
): FieldError[] {
  const errors = validateFinalizers(metadata, previous);
  const badName = kind.refuseName(metadata.name);
  if (metadata.name === '') {
    errors.push(required('metadata.name', 'name or generateName is required'));
  } else if (badName) errors.push(invalidValue('metadata.name', metadata.name, badName));
  errors.push(...validateLabels(metadata.labels ?? {}));
  errors.push(...validateAnnotations(metadata.annotations ?? {}));
  for (const [i, owner] of (metadata.ownerReferences ?? []).entries()) {
    for (const field of ['apiVersion', 'kind', 'name', 'uid'] as const) {
      if (!owner[field]) errors.push(required(`metadata.ownerReferences[${i}].${field}`));
    }
  }
  return errors;
}

/** Throws a 409 unless the object has the wanted UID and version. */
function checkPreconditions(
  { group, kind }: ResourceKind,
  { metadata }: KubeObject,
  { uid, resourceVersion }: DeleteOptions,
): void {
  const check = (field: string, wanted: string | undefined, found: string, then: string) => {
    if (wanted === undefined || wanted === found) return;
    const why = `the ${field} in the precondition (${wanted}) does not match the ${field} in record (${found}). The object might have been ${then}`;
    // The real one names the kind here, not the resource.
    throw conflict({ group, kind, plural: kind }, metadata.name, why);
  };
  check('UID', uid, metadata.uid, 'deleted and then recreated');
  check('ResourceVersion', resourceVersion, metadata.resourceVersion, 'modified');
}

/** The finalizers of an object after a delete. Source: registry/generic deletionFinalizersForGarbageCollection. */
function finalizersAfterDelete(
  { finalizers = [] }: ObjectMeta,
  propagation: Propagation | undefined,
): string[] {
  if (propagation === undefined) return finalizers;
  const { Foreground, Orphan } = COLLECTOR_FINALIZERS;
  const others = finalizers.filter((item) => item !== Foreground && item !== Orphan);
  return propagation === 'Background' ? others : [...others, COLLECTOR_FINALIZERS[propagation]];
}
