import { ApiError } from '../errors.js';
import { isJsonObject, type JsonObject } from '../object.js';
import { isSafeKey } from './merge-patch.js';

/** The field by which the items of a list are matched, by path without indexes; '' is a set. */
export type MergeKeys = Readonly<Record<string, string>>;

/** Lists that every kind has. */
const METADATA_KEYS: MergeKeys = {
  'metadata.finalizers': '',
  'metadata.ownerReferences': 'uid',
};

/** Directives of a patch among its fields. Source: apimachinery strategicpatch. */
const DIRECTIVE = '$patch';
const RETAIN_KEYS = '$retainKeys';
const DELETE_PREFIX = '$deleteFromPrimitiveList/';
const ORDER_PREFIX = '$setElementOrder/';

/**
 * A strategic merge patch: like a merge patch, except that the lists which `mergeKeys` names are
 * merged item by item. Neither argument is changed. Throws a 400 for a patch that is not valid.
 */
export function strategicMergePatch(
  target: unknown,
  patch: unknown,
  mergeKeys: MergeKeys,
): unknown {
  const keys = { ...METADATA_KEYS, ...mergeKeys };
  return mergeObjects(isJsonObject(target) ? target : {}, asObject(patch, ''), '', keys);
}

function refuse(path: string, why: string): ApiError {
  return new ApiError('BadRequest', `the patch is not valid at "${path}": ${why}`);
}

function asObject(value: unknown, path: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw refuse(path, 'an object is expected');
}

function asList(value: unknown, path: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw refuse(path, 'a list is expected');
}

/** The patch without directives: the result where the target has no value. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = (value as unknown[]).filter(
      (item) => !isJsonObject(item) || item[DIRECTIVE] !== 'delete',
    );
    return items.map(withoutDirectives);
  }
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).filter(
    ([key, item]) => !key.startsWith('$') && item !== null && isSafeKey(key),
  );
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutDirectives(item)]));
}

function mergeObjects(
  target: JsonObject,
  patch: JsonObject,
  path: string,
  keys: MergeKeys,
): JsonObject {
  if (patch[DIRECTIVE] === 'delete') return {};
  if (patch[DIRECTIVE] === 'replace') return asObject(withoutDirectives(patch), path);
  const result = { ...target };
  if (patch[RETAIN_KEYS] !== undefined) {
    const retained = new Set(asList(patch[RETAIN_KEYS], path));
    for (const key of Object.keys(result)) {
      if (!retained.has(key)) Reflect.deleteProperty(result, key);
    }
  }
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(DELETE_PREFIX)) removeValues(result, key.slice(DELETE_PREFIX.length), value);
    if (key.startsWith('$') || !isSafeKey(key)) continue;
    const fieldPath = path ? `${path}.${key}` : key;
    if (value === null) Reflect.deleteProperty(result, key);
    else result[key] = mergeValue(result[key], value, fieldPath, keys);
  }
  for (const [key, value] of Object.entries(patch)) {
    if (!key.startsWith(ORDER_PREFIX)) continue;
    const field = key.slice(ORDER_PREFIX.length);
    const list = result[field];
    const listPath = path ? `${path}.${field}` : field;
    if (!Array.isArray(list)) continue;
    result[field] = reorder(list, asList(value, listPath), keys[listPath] ?? '');
  }
  return result;
}

function removeValues(target: JsonObject, field: string, values: unknown): void {
  const list = target[field];
  const gone = new Set(asList(values, field));
  if (Array.isArray(list)) target[field] = (list as unknown[]).filter((item) => !gone.has(item));
}

function mergeValue(target: unknown, patch: unknown, path: string, keys: MergeKeys): unknown {
  if (isJsonObject(patch)) {
    return isJsonObject(target)
      ? mergeObjects(target, patch, path, keys)
      : withoutDirectives(patch);
  }
  if (!Array.isArray(patch)) return patch;
  const mergeKey = keys[path];
  if (mergeKey === undefined || !Array.isArray(target)) return withoutDirectives(patch);
  if (mergeKey === '') return [...new Set([...(target as unknown[]), ...(patch as unknown[])])];
  return mergeLists(target, patch, mergeKey, path, keys);
}

function mergeLists(
  target: readonly unknown[],
  patch: readonly unknown[],
  mergeKey: string,
  path: string,
  keys: MergeKeys,
): unknown[] {
  const items = patch.map((item) => asObject(item, path));
  if (items.some((item) => item[DIRECTIVE] === 'replace')) {
    return items.filter((item) => item[DIRECTIVE] !== 'replace').map(withoutDirectives);
  }
  const result = [...target];
  const indexes = new Map<string, number>();
  for (const [i, item] of result.entries()) {
    const id = identify(item, mergeKey);
    if (!indexes.has(id)) indexes.set(id, i);
  }
  const deleted = new Set<string>();
  for (const item of items) {
    if (item[mergeKey] === undefined) {
      throw refuse(path, `an item lacks its merge key "${mergeKey}"`);
    }
    const id = identify(item, mergeKey);
    const index = indexes.get(id);
    if (item[DIRECTIVE] === 'delete') deleted.add(id);
    else if (index === undefined) indexes.set(id, result.push(withoutDirectives(item)) - 1);
    else result[index] = mergeObjects(asObject(result[index], path), item, path, keys);
  }
  return result.filter((item) => !deleted.has(identify(item, mergeKey)));
}

/** A text that is equal for matching items of a list: of the merge key, or of the item itself. */
function identify(item: unknown, mergeKey: string): string {
  return JSON.stringify((isJsonObject(item) && mergeKey ? item[mergeKey] : item) ?? null);
}

/** Items in the order that the patch requests; items that it does not name stay where they are. */
function reorder(list: readonly unknown[], order: readonly unknown[], mergeKey: string): unknown[] {
  const ranks = new Map(order.map((item, i) => [identify(item, mergeKey), i]));
  const rankOf = (item: unknown) => ranks.get(identify(item, mergeKey)) ?? -1;
  const named = list.filter((item) => rankOf(item) >= 0).sort((a, b) => rankOf(a) - rankOf(b));
  let next = 0;
  return list.map((item) => (rankOf(item) >= 0 ? named[next++] : item));
}
