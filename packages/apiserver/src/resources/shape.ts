import { isJsonObject, type JsonObject } from '../object.js';

/** The fields that an object may have, and the shape of each. */
export type Fields = Readonly<Record<string, Shape>>;

/**
 * The type of a JSON value. The content of `any` and `object` is not checked; everything else is
 * checked to the leaves, so that later code can rely on the types.
 */
export type Shape =
  | 'string'
  | 'int'
  | 'bool'
  | 'intOrString'
  | 'object'
  | 'any'
  | { readonly list: Shape }
  | { readonly map: Shape }
  | { readonly fields: Fields };

/** `metav1.ObjectMeta`; includes fields that the caller drops. */
const METADATA: Fields = {
  name: 'string',
  generateName: 'string',
  namespace: 'string',
  selfLink: 'string',
  uid: 'string',
  resourceVersion: 'string',
  generation: 'int',
  creationTimestamp: 'string',
  deletionTimestamp: 'string',
  deletionGracePeriodSeconds: 'int',
  labels: { map: 'string' },
  annotations: { map: 'string' },
  ownerReferences: {
    list: {
      fields: {
        apiVersion: 'string',
        kind: 'string',
        name: 'string',
        uid: 'string',
        controller: 'bool',
        blockOwnerDeletion: 'bool',
      },
    },
  },
  finalizers: { list: 'string' },
  managedFields: 'any',
};

/** Type and object metadata, the same for every kind. */
export const OBJECT_FIELDS: Fields = {
  apiVersion: 'string',
  kind: 'string',
  metadata: { fields: METADATA },
};

/** `core/v1.ObjectReference`. */
export const OBJECT_REFERENCE: Shape = {
  fields: {
    apiVersion: 'string',
    kind: 'string',
    namespace: 'string',
    name: 'string',
    uid: 'string',
    resourceVersion: 'string',
    fieldPath: 'string',
  },
};

/** A value that does not have its shape, with its path. */
export interface ShapeFault {
  readonly path: string;
  readonly expected: string;
  readonly found: string;
}

/** The result of a check: a copy without nulls and unknown fields, and what was wrong. */
export interface Shaped {
  readonly value: JsonObject;
  readonly fault: ShapeFault | undefined;
  /** Paths of the fields that the shape does not have; they are not in `value`. */
  readonly unknown: readonly string[];
}

interface Findings {
  fault: ShapeFault | undefined;
  readonly unknown: string[];
}

/** Checks a JSON object against its fields. Never throws; at most one fault is reported. */
export function checkShape(value: JsonObject, fields: Fields): Shaped {
  const findings: Findings = { fault: undefined, unknown: [] };
  const copy = checkFields(value, fields, '', findings);
  return { value: copy, fault: findings.fault, unknown: findings.unknown };
}

function nameOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return value === null ? 'null' : typeof value;
}

/** Stores the first fault; returns a placeholder that is never used. */
function fail(findings: Findings, path: string, expected: string, value: unknown): null {
  findings.fault ??= { path, expected, found: nameOf(value) };
  return null;
}

function checkFields(
  value: JsonObject,
  fields: Fields,
  path: string,
  findings: Findings,
): JsonObject {
  const copy: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    const fieldPath = path ? `${path}.${key}` : key;
    if (!Object.hasOwn(fields, key)) findings.unknown.push(fieldPath);
    // As in Go's decoder, null is the same as absent.
    else if (item !== null) copy[key] = checkValue(item, fields[key]!, fieldPath, findings);
  }
  return copy;
}

/** What null is in a list or a map: in Go's decoder the empty value of the type. */
function emptyValue(shape: Shape): unknown {
  switch (shape) {
    case 'string':
      return '';
    case 'int':
    case 'intOrString':
      return 0;
    case 'bool':
      return false;
    case 'any':
      return null;
    default:
      return typeof shape === 'object' && 'list' in shape ? [] : {};
  }
}

function checkItem(item: unknown, shape: Shape, path: string, findings: Findings): unknown {
  return item === null ? emptyValue(shape) : checkValue(item, shape, path, findings);
}

function checkValue(value: unknown, shape: Shape, path: string, findings: Findings): unknown {
  if (typeof shape === 'string') {
    return isPlain(value, shape) ? value : fail(findings, path, shape, value);
  }
  if ('list' in shape) {
    if (!Array.isArray(value)) return fail(findings, path, 'array', value);
    return value.map((item, i) => checkItem(item, shape.list, `${path}[${i}]`, findings));
  }
  if (!isJsonObject(value)) return fail(findings, path, 'object', value);
  if ('fields' in shape) return checkFields(value, shape.fields, path, findings);
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    checkItem(item, shape.map, `${path}.${key}`, findings),
  ]);
  return Object.fromEntries(entries);
}

function isInt32(value: unknown): boolean {
  return Number.isInteger(value) && Math.abs(value as number) <= 2 ** 31 - 1;
}

function isPlain(value: unknown, shape: Extract<Shape, string>): boolean {
  switch (shape) {
    case 'string':
      return typeof value === 'string';
    case 'int':
      return isInt32(value);
    case 'bool':
      return typeof value === 'boolean';
    case 'intOrString':
      return typeof value === 'string' || isInt32(value);
    case 'object':
      return isJsonObject(value);
    case 'any':
      return true;
  }
}

/** Whether a value is nested deeper than `limit`; such a value is never stored. */
export function isDeeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (limit === 0) return true;
  return Object.values(value).some((item) => isDeeperThan(item, limit - 1));
}
