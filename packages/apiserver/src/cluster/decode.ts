import { ApiError } from '../errors.js';
import { isJsonObject, type JsonObject, type KubeObject } from '../object.js';
import { apiVersionOf, type ResourceKind } from '../resources/resource-kind.js';
import { checkShape, isDeeperThan, OBJECT_FIELDS } from '../resources/shape.js';

/** How fields that the kind does not have are handled. Source: metav1 fieldValidation. */
export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

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

function checkType(kind: ResourceKind, value: JsonObject): void {
  const { apiVersion, kind: name } = value;
  const expected = apiVersionOf(kind);
  if (apiVersion !== undefined && apiVersion !== '' && apiVersion !== expected) {
    throw new ApiError(
      'BadRequest',
      `the API version in the data (${JSON.stringify(apiVersion)}) does not match the expected API version (${expected})`,
    );
  }
  if (name !== undefined && name !== '' && name !== kind.kind) {
    throw new ApiError(
      'BadRequest',
      `the kind in the data (${JSON.stringify(name)}) does not match the expected kind (${kind.kind})`,
    );
  }
}

/**
 * Decodes a client's value as an object of a kind. Throws a 400 when it has another kind, a field has
 * the wrong type or, with `Strict`, a field is unknown. Defaults and validation follow later.
 */
export function decodeObject(
  kind: ResourceKind,
  value: unknown,
  validation: FieldValidation,
): Decoded {
  const apiVersion = apiVersionOf(kind);
  const refuse = (why: string) =>
    new ApiError(
      'BadRequest',
      `${kind.kind} in version "${apiVersion}" cannot be handled as a ${kind.kind}: ${why}`,
    );
  if (!isJsonObject(value)) throw refuse('the body is not an object');
  if (isDeeperThan(value, MAX_DEPTH)) throw refuse(`nested deeper than ${MAX_DEPTH}`);
  checkType(kind, value);
  const shaped = checkShape(value, { ...OBJECT_FIELDS, ...kind.shape });
  if (shaped.fault) {
    const { path, expected, found } = shaped.fault;
    throw refuse(`cannot read ${found} into field ${path} of type ${expected}`);
  }
  const warnings = shaped.unknown.slice(0, MAX_WARNINGS).map((path) => `unknown field "${path}"`);
  if (warnings.length > 0 && validation === 'Strict') {
    throw refuse(`strict decoding error: ${warnings.join(', ')}`);
  }
  const metadata = { name: '', ...(shaped.value.metadata as JsonObject | undefined) };
  for (const field of DROPPED_METADATA) Reflect.deleteProperty(metadata, field);
  const object = {
    ...shaped.value,
    apiVersion,
    kind: kind.kind,
    metadata,
  };
  // The shape is checked above; the registry fills in the server's fields before the object is read.
  return {
    object: object as unknown as KubeObject,
    warnings: validation === 'Warn' ? warnings : [],
  };
}
