import { isDeepStrictEqual } from 'node:util';
import { copyJson, isJsonObject, type JsonObject, type KubeObject } from '../object.js';
import { invalidValue, required, type FieldError } from './field-error.js';
import { refuseSubdomain } from './names.js';
import {
  AGE_COLUMN,
  NAME_COLUMN,
  PLAIN_KIND,
  type Column,
  type ResourceKind,
} from './resource-kind.js';

/** The properties of a kind that is only stored: its row in the table of such kinds. */
export interface StoredKindRow<T extends KubeObject> extends Pick<
  ResourceKind<T>,
  'group' | 'kind' | 'shape'
> {
  /** The plural and the short names in discovery; the singular is the kind in lower case. */
  readonly names: readonly [plural: string, ...shortNames: string[]];
  readonly options?: Partial<
    Pick<
      ResourceKind<T>,
      | 'categories'
      | 'createsOnUpdate'
      | 'isNamespaced'
      | 'isScalable'
      | 'mergeKeys'
      | 'needsVersion'
      | 'refuseName'
      | 'returnsDeleted'
    >
  >;
  /** Columns between name and age. */
  readonly columns?: readonly Column<T>[];
  /** Defaults of missing fields; objects are filled in at every depth. */
  readonly defaults?: JsonObject;
  /** A top-level field, or a field of `spec`, that cannot change, and the message for a change. */
  readonly immutable?: readonly [path: string, why: string];
  /** Whether changes of `spec` count as generations. */
  readonly hasGenerations?: boolean;
  readonly validate?: (object: T) => FieldError[];
}

function fillIn(object: JsonObject, defaults: JsonObject): void {
  for (const [key, value] of Object.entries(defaults)) {
    const given = object[key];
    if (given === undefined) object[key] = copyJson(value);
    else if (isJsonObject(given) && isJsonObject(value)) fillIn(given, value);
  }
}

function valueAt(object: unknown, path: string): unknown {
  const step = (value: unknown, key: string) => (isJsonObject(value) ? value[key] : undefined);
  return path.split('.').reduce(step, object);
}

/** The errors for fields of the object at `path` that are missing or empty. */
export function requireFields(object: object, fields: readonly string[], path = ''): FieldError[] {
  return fields.flatMap((field) => {
    const value: unknown = Reflect.get(object, field);
    const isPresent = Array.isArray(value) ? value.length > 0 : Boolean(value);
    return isPresent ? [] : [required(path === '' ? field : `${path}.${field}`)];
  });
}

/** The table entry of a kind without further effect: it is checked, stored and printed. */
export function storedKind<T extends KubeObject>(row: StoredKindRow<T>): ResourceKind<T> {
  const { group, kind, shape, names, columns = [], defaults = {}, immutable } = row;
  const [plural, ...shortNames] = names;
  return {
    ...PLAIN_KIND,
    group,
    kind,
    shape,
    plural,
    shortNames,
    singular: kind.toLowerCase(),
    refuseName: refuseSubdomain,
    ...row.options,
    columns: [NAME_COLUMN, ...columns, AGE_COLUMN],
    setDefaults: (object) => fillIn(object as unknown as JsonObject, defaults),
    validate: row.validate ?? PLAIN_KIND.validate,
    validateUpdate(object, previous) {
      if (immutable === undefined) return [];
      const [path, why] = immutable;
      const value = valueAt(object, path);
      if (isDeepStrictEqual(value, valueAt(previous, path))) return [];
      return [invalidValue(path, value, why)];
    },
    generationOf: (object) => (row.hasGenerations ? valueAt(object, 'spec') : undefined),
  };
}
