import { ApiError, invalid } from '../errors.js';
import { isJsonObject, type JsonObject, type KubeObject } from '../object.js';
import { invalidValue } from '../resources/field-error.js';
import { apiVersionOf, type ResourceKind } from '../resources/resource-kind.js';
import { checkShape, isDeeperThan, OBJECT_FIELDS } from '../resources/shape.js';

/** How fields that the kind does not have are handled. Source: metav1 fieldValidation. */
export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

/** How a client's value is decoded. */
export interface DecodeOptions {
  /** Default: Warn. */
  readonly fieldValidation?: FieldValidation;
  /** The fields that the text of the request has twice. */
  readonly duplicates?: DuplicateFields | undefined;
  /** Whether the value is a stored object with a client's changes. */
  readonly isPatch?: boolean;
}

/** Fields that a text has twice: a warning for each, and how a refusal names them all. */
export interface DuplicateFields {
  readonly warnings: readonly string[];
  readonly refusal: string;
}

/** An object whose fields have the types of its kind, and a warning for each dropped field. */
export interface Decoded {
  readonly object: KubeObject;
  readonly warnings: readonly string[];
}

/** Bounds the recursion; no real object is nested as deep. */
const MAX_DEPTH = 100;
const MAX_WARNINGS = 20;
/** Metadata that clients may send and that is dropped. */
const DROPPED_METADATA = ['selfLink', 'managedFields'];
/** Metadata that is absent where it is empty, as in Go's JSON. */
const OMITTED_METADATA = ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const;

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
function refuse(kind: ResourceKind, value: unknown, why: string, isPatch: boolean): ApiError {
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
export function decodeObject(
  kind: ResourceKind,
  value: unknown,
  { fieldValidation = 'Warn', duplicates, isPatch = false }: DecodeOptions,
): Decoded {
  const check = (why: string | undefined) => {
    if (why !== undefined) throw refuse(kind, value, why, isPatch);
  };
  if (isDeeperThan(value, MAX_DEPTH)) {
    // Too deep to be shown.
    throw refuse(kind, null, `nested deeper than ${MAX_DEPTH}`, isPatch);
  }
  if (!isJsonObject(value)) throw refuse(kind, value, 'the body is not an object', isPatch);
  check(refuseType(kind, value));
  const shaped = checkShape(value, { ...OBJECT_FIELDS, ...kind.shape });
  if (shaped.fault) {
    const { path, expected, found } = shaped.fault;
    check(`cannot read ${found} into field ${path} of type ${expected}`);
  }
  const unknown = shaped.unknown.map((path) => `unknown field ${JSON.stringify(path)}`);
  const warnings = [...(duplicates?.warnings ?? []), ...unknown].slice(0, MAX_WARNINGS);
  if (warnings.length > 0 && fieldValidation === 'Strict') {
    const refusals = [
      ...(duplicates ? [duplicates.refusal] : []),
      ...unknown.slice(0, MAX_WARNINGS),
    ];
    check(`strict decoding error: ${refusals.join(', ')}`);
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
