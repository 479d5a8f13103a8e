import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../object.js';
import {
  duplicate,
  forbiddenField,
  invalidValue,
  tooLong,
  type FieldError,
} from './field-error.js';
import { refuseConfigKey, refuseSubdomain } from './names.js';
import { AGE_COLUMN, column, NAME_COLUMN, PLAIN_KIND, type ResourceKind } from './resource-kind.js';

/** `core/v1.ConfigMap`. */
export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
  /** Values in base64. */
  binaryData?: Record<string, string>;
  immutable?: boolean;
}

/** Source: core/v1 MaxSecretSize, which ConfigMaps share. */
const MAX_DATA_BYTES = 1024 * 1024;

function keysOf({ data, binaryData }: ConfigMap): [field: string, key: string][] {
  return [
    ...Object.keys(data ?? {}).map((key): [string, string] => ['data', key]),
    ...Object.keys(binaryData ?? {}).map((key): [string, string] => ['binaryData', key]),
  ];
}

/** The table entry of ConfigMaps. */
export const configMapKind: ResourceKind<ConfigMap> = {
  ...PLAIN_KIND,
  group: '',
  kind: 'ConfigMap',
  plural: 'configmaps',
  singular: 'configmap',
  shortNames: ['cm'],
  refuseName: refuseSubdomain,
  shape: { data: { map: 'string' }, binaryData: { map: 'string' }, immutable: 'bool' },
  columns: [
    NAME_COLUMN,
    column('Data', 'Number of keys.', (map) => keysOf(map).length, { type: 'integer' }),
    AGE_COLUMN,
  ],

  validate(map) {
    const errors: FieldError[] = [];
    for (const [field, key] of keysOf(map)) {
      const reason = refuseConfigKey(key);
      if (reason) errors.push(invalidValue(`${field}[${key}]`, key, reason));
      if (field === 'binaryData' && map.data && Object.hasOwn(map.data, key)) {
        errors.push(duplicate(`data[${key}]`, key));
      }
    }
    const values = [...Object.values(map.data ?? {}), ...Object.values(map.binaryData ?? {})];
    const bytes = values.reduce((sum, value) => sum + Buffer.byteLength(value), 0);
    if (bytes > MAX_DATA_BYTES) errors.push(tooLong('data', MAX_DATA_BYTES));
    return errors;
  },
  validateUpdate(map, previous) {
    if (!previous.immutable) return [];
    const errors: FieldError[] = [];
    const why = 'field is immutable when `immutable` is set';
    if (!map.immutable) errors.push(forbiddenField('immutable', why));
    for (const field of ['data', 'binaryData'] as const) {
      if (!isDeepStrictEqual(map[field], previous[field])) errors.push(forbiddenField(field, why));
    }
    return errors;
  },
};
