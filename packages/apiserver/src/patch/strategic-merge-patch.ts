import { ApiError } from '../errors.js';
import { isJsonObject, type JsonObject } from '../object.js';
import { isSafeKey } from './merge-patch.js';

/** Instead of a merge key: the object at this path is replaced. Source: patchStrategy "replace". */
export const REPLACED = '$replace';

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
  const directive = readDirective(patch, path);
  if (directive === 'delete') return {};
  if (directive === 'replace') return asObject(withoutDirectives(patch), path);
  const result = { ...target };
  if (patch[RETAIN_KEYS] !== undefined) retainKeys(result, patch, path);
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(DELETE_PREFIX)) removeValues(result, key.slice(DELETE_PREFIX.length), value);
    if (key.startsWith('$') || !isSafeKey(key)) continue;
    const fieldPath = path ? `${path}.${key}` : key;
    if (value === null) Reflect.deleteProperty(result, key);
    else result[key] = mergeValue(result[key], value, fieldPath, keys);
  }
  for (const field of listsOf(patch)) {
    const listPath = path ? `${path}.${field}` : field;
    const mergeKey = keys[listPath];
    const merged = result[field];
    if (mergeKey === undefined || !Array.isArray(merged)) continue;
    const order = orderOf(patch, field, mergeKey, listPath);
    const stored = asStored(target[field]);
    const isOrdered = `${ORDER_PREFIX}${field}` in patch && mergeKey !== '';
    const places = isOrdered ? placesAfter(stored, merged, mergeKey) : stored;
    result[field] = inOrder(merged, places, order, mergeKey);
  }
  return result;
}

function readDirective(patch: JsonObject, path: string): 'delete' | 'replace' | undefined {
  const directive = patch[DIRECTIVE];
  if (directive === undefined || directive === 'delete' || directive === 'replace') {
    return directive;
  }
  throw refuse(path, `unknown patch type: ${JSON.stringify(directive)}`);
}

function retainKeys(target: JsonObject, patch: JsonObject, path: string): void {
  const retained = new Set(asList(patch[RETAIN_KEYS], path));
  for (const [key, value] of Object.entries(patch)) {
    if (value !== null && !key.startsWith('$') && !retained.has(key)) {
      throw refuse(path, `invalid patch format of retainKeys: it lacks "${key}"`);
    }
  }
  for (const key of Object.keys(target)) {
    if (!retained.has(key)) Reflect.deleteProperty(target, key);
  }
}

/** The lists that a patch changes or orders. */
function listsOf(patch: JsonObject): Set<string> {
  const fields = Object.entries(patch).flatMap(([key, value]) => {
    if (key.startsWith(ORDER_PREFIX)) return [key.slice(ORDER_PREFIX.length)];
    return Array.isArray(value) && !key.startsWith('$') ? [key] : [];
  });
  return new Set(fields);
}

/** The order that a patch demands for a list, which is that of its own items if it names no other. */
function orderOf(
  patch: JsonObject,
  field: string,
  mergeKey: string,
  path: string,
): readonly unknown[] {
  const items = (patch[field] ?? []) as readonly unknown[];
  const directive = patch[`${ORDER_PREFIX}${field}`];
  if (directive === undefined) return items;
  const order = asList(directive, path);
  const ids = order.map((item) => identify(item, mergeKey));
  let from = 0;
  for (const item of items) {
    if (isJsonObject(item) && item[DIRECTIVE] !== undefined) continue;
    from = ids.indexOf(identify(item, mergeKey), from) + 1;
    if (from === 0)
      throw refuse(path, "the order in the patch list doesn't match $setElementOrder");
  }
  return order;
}

function removeValues(target: JsonObject, field: string, values: unknown): void {
  const list = target[field];
  const gone = new Set(asList(values, field));
  if (Array.isArray(list)) target[field] = (list as unknown[]).filter((item) => !gone.has(item));
}

function mergeValue(target: unknown, patch: unknown, path: string, keys: MergeKeys): unknown {
  if (isJsonObject(patch)) {
    return isJsonObject(target) && keys[path] !== REPLACED
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
    if (readDirective(item, path) === 'delete') deleted.add(id);
    else if (index === undefined) indexes.set(id, result.push(withoutDirectives(item)) - 1);
    else result[index] = mergeObjects(asObject(result[index], path), item, path, keys);
  }
  return result.filter((item) => !deleted.has(identify(item, mergeKey)));
}

/** A text that is equal for matching items of a list: of the merge key, or of the item itself. */
function identify(item: unknown, mergeKey: string): string {
  return JSON.stringify((isJsonObject(item) && mergeKey ? item[mergeKey] : item) ?? null);
}

function asStored(list: unknown): readonly unknown[] {
  return Array.isArray(list) ? list : [];
}

/**
 * The stored list, with items that were added in the places of those that were deleted: kube-apiserver
 * changes it while it merges, and takes the order from it afterwards.
 */
function placesAfter(
  stored: readonly unknown[],
  merged: readonly unknown[],
  mergeKey: string,
): unknown[] {
  const idsOf = (list: readonly unknown[]) => new Set(list.map((item) => identify(item, mergeKey)));
  const kept = idsOf(merged);
  const known = idsOf(stored);
  const remaining = stored.filter((item) => kept.has(identify(item, mergeKey)));
  const added = merged.filter((item) => !known.has(identify(item, mergeKey)));
  return [...remaining, ...added.slice(0, stored.length - remaining.length)];
}

/**
 * Items in the order that the patch demands. One that the patch does not name comes as early as it
 * can: before the next one that was after it in the stored list. Source: strategicpatch mergeSortedSlice.
 */
function inOrder(
  merged: readonly unknown[],
  stored: readonly unknown[],
  order: readonly unknown[],
  mergeKey: string,
): unknown[] {
  const placeIn = (list: readonly unknown[]) => {
    const places = new Map<string, number>();
    for (const [i, item] of list.entries()) {
      const id = identify(item, mergeKey);
      if (!places.has(id)) places.set(id, i);
    }
    return (item: unknown) => places.get(identify(item, mergeKey));
  };
  const rankOf = placeIn(order);
  const placeOf = placeIn(stored);
  const named = merged.filter((item) => rankOf(item) !== undefined);
  named.sort((a, b) => rankOf(a)! - rankOf(b)!);
  const others = merged.filter((item) => rankOf(item) === undefined);
  let next = 0;
  const isEarlier = (place: number | undefined) =>
    next < others.length && place !== undefined && (placeOf(others[next]) ?? place) < place;
  const result: unknown[] = [];
  for (const item of named) {
    while (isEarlier(placeOf(item))) result.push(others[next++]);
    result.push(item);
  }
  return [...result, ...others.slice(next)];
}
