import { isDeepStrictEqual } from 'node:util';
import { errorText } from '@kube-dns/base';
import { ApiError } from './errors.js';
import { isJsonObject, type JsonObject, type KubeObject } from './object.js';

/**
 * Whether a key may be written by assignment. `__proto__` would change the object's prototype
 * instead; no Kubernetes field has that name.
 */
function isSafeKey(key: string): boolean {
  return key !== '__proto__';
}

/** RFC 7396. Neither argument is changed; the result may share parts with both. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const result: JsonObject = isJsonObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (!isSafeKey(key)) continue;
    if (value === null) Reflect.deleteProperty(result, key);
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}

/** Instead of a merge key: the object at this path is replaced. Source: patchStrategy "replace". */
export const REPLACED = '$replace';

/** The field by which the items of a list are matched, by path without indexes; '' is a set. */
type MergeKeys = Readonly<Record<string, string>>;

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

function notValid(path: string, why: string): ApiError {
  return new ApiError('BadRequest', `the patch is not valid at "${path}": ${why}`);
}

function asObject(value: unknown, path: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw notValid(path, 'an object is expected');
}

function asList(value: unknown, path: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw notValid(path, 'a list is expected');
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
    const positions = isOrdered ? orderAfterMerge(stored, merged, mergeKey) : stored;
    result[field] = inOrder(merged, positions, order, mergeKey);
  }
  return result;
}

function readDirective(patch: JsonObject, path: string): 'delete' | 'replace' | undefined {
  const directive = patch[DIRECTIVE];
  if (directive === undefined || directive === 'delete' || directive === 'replace') {
    return directive;
  }
  throw notValid(path, `unknown patch type: ${JSON.stringify(directive)}`);
}

function retainKeys(target: JsonObject, patch: JsonObject, path: string): void {
  const retained = new Set(asList(patch[RETAIN_KEYS], path));
  for (const [key, value] of Object.entries(patch)) {
    if (value !== null && !key.startsWith('$') && !retained.has(key)) {
      throw notValid(path, `invalid patch format of retainKeys: it lacks "${key}"`);
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
      throw notValid(path, "the order in the patch list doesn't match $setElementOrder");
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
      throw notValid(path, `an item lacks its merge key "${mergeKey}"`);
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
 * The stored list, with items that were added in the positions of those that were deleted: kube-apiserver
 * changes it while it merges, and takes the order from it afterwards.
 */
function orderAfterMerge(
  stored: readonly unknown[],
  merged: readonly unknown[],
  mergeKey: string,
): unknown[] {
  const idsOf = (list: readonly unknown[]) => new Set(list.map((item) => identify(item, mergeKey)));
  const mergedIds = idsOf(merged);
  const storedIds = idsOf(stored);
  const remaining = stored.filter((item) => mergedIds.has(identify(item, mergeKey)));
  const added = merged.filter((item) => !storedIds.has(identify(item, mergeKey)));
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
  const positionIn = (list: readonly unknown[]) => {
    const positions = new Map<string, number>();
    for (const [i, item] of list.entries()) {
      const id = identify(item, mergeKey);
      if (!positions.has(id)) positions.set(id, i);
    }
    return (item: unknown) => positions.get(identify(item, mergeKey));
  };
  const rankOf = positionIn(order);
  const positionOf = positionIn(stored);
  const named = merged.filter((item) => rankOf(item) !== undefined);
  named.sort((a, b) => rankOf(a)! - rankOf(b)!);
  const others = merged.filter((item) => rankOf(item) === undefined);
  let next = 0;
  const isEarlier = (position: number | undefined) =>
    next < others.length &&
    position !== undefined &&
    (positionOf(others[next]) ?? position) < position;
  const result: unknown[] = [];
  for (const item of named) {
    while (isEarlier(positionOf(item))) result.push(others[next++]);
    result.push(item);
  }
  return [...result, ...others.slice(next)];
}

const MAX_OPERATIONS = 10_000;
/** What all copies of a patch add at most: each can double the document. Source: AccumulatedCopySizeLimit. */
const MAX_COPIED_BYTES = 3 * 1024 * 1024;

function cannotApply(why: string): ApiError {
  return new ApiError('Invalid', `the patch cannot be applied: ${why}`);
}

function parsePointer(pointer: unknown): string[] {
  if (typeof pointer !== 'string' || (pointer !== '' && !pointer.startsWith('/'))) {
    throw cannotApply(`${JSON.stringify(pointer ?? null)} is not a JSON pointer`);
  }
  const keys = pointer.split('/').slice(1);
  return keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function indexOf(list: readonly unknown[], key: string, last: number): number {
  const index = /^(0|[1-9]\d*)$/.test(key) ? Number(key) : -1;
  if (index < 0 || index > last) throw cannotApply(`no index "${key}" in a list of ${list.length}`);
  return index;
}

function getChild(parent: unknown, key: string): unknown {
  if (Array.isArray(parent)) return parent[indexOf(parent, key, parent.length - 1)];
  if (isJsonObject(parent) && Object.hasOwn(parent, key)) return parent[key];
  throw cannotApply(`path has no "${key}"`);
}

/** The document as the only field of an object, so that its root can also be replaced. */
type Holder = Record<'root', unknown>;

function locate(holder: Holder, pointer: unknown): [parent: unknown, key: string] {
  const path = ['root', ...parsePointer(pointer)];
  const key = path.pop()!;
  return [path.reduce<unknown>(getChild, holder), key];
}

function add(holder: Holder, pointer: unknown, value: unknown): void {
  const [parent, key] = locate(holder, pointer);
  if (Array.isArray(parent)) {
    const index = key === '-' ? parent.length : indexOf(parent, key, parent.length);
    parent.splice(index, 0, value);
  } else if (isJsonObject(parent) && isSafeKey(key)) parent[key] = value;
  else throw cannotApply(`nothing can be added at "${String(pointer)}"`);
}

function remove(holder: Holder, pointer: unknown): unknown {
  const [parent, key] = locate(holder, pointer);
  const value = getChild(parent, key);
  if (Array.isArray(parent)) parent.splice(indexOf(parent, key, parent.length - 1), 1);
  else Reflect.deleteProperty(parent as object, key);
  return value;
}

/** Unlike RFC 6902, and as kube-apiserver, this adds the member that an object lacks. */
function replace(holder: Holder, pointer: unknown, value: unknown): void {
  const [parent, key] = locate(holder, pointer);
  if (Array.isArray(parent)) parent[indexOf(parent, key, parent.length - 1)] = value;
  else add(holder, pointer, value);
}

function read(holder: Holder, pointer: unknown): unknown {
  const [parent, key] = locate(holder, pointer);
  return getChild(parent, key);
}

/** structuredClone would make objects of another realm where the tests run: none equals one of theirs (`isDeepStrictEqual`). */
function cloneJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/**
 * RFC 6902. The target is not changed. Throws a 422 when an operation is unknown, does not
 * apply or a `test` fails.
 */
export function jsonPatch(target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw new ApiError('BadRequest', 'a JSON patch must be an array');
  if (patch.length > MAX_OPERATIONS) {
    throw new ApiError('RequestEntityTooLarge', `more than ${MAX_OPERATIONS} operations`);
  }
  try {
    return applyAll(target, patch);
  } catch (error) {
    // Operations can build what is nested too deep to be cloned or compared.
    throw error instanceof ApiError ? error : cannotApply(errorText(error));
  }
}

function applyAll(target: unknown, patch: readonly unknown[]): unknown {
  let copied = 0;
  const holder: Holder = { root: cloneJson(target) };
  for (const item of patch) {
    const { op, path, from, value } = isJsonObject(item) ? item : {};
    switch (op) {
      case 'add':
        add(holder, path, cloneJson(value));
        break;
      case 'remove':
        remove(holder, path);
        break;
      case 'replace':
        replace(holder, path, cloneJson(value));
        break;
      case 'move':
        add(holder, path, remove(holder, from));
        break;
      case 'copy':
        {
          const text = JSON.stringify(read(holder, from));
          copied += text.length;
          if (copied > MAX_COPIED_BYTES) {
            const why = `the copies of the patch add more than ${MAX_COPIED_BYTES} bytes`;
            throw new ApiError('RequestEntityTooLarge', why);
          }
          add(holder, path, JSON.parse(text));
        }
        break;
      case 'test':
        if (!isDeepStrictEqual(read(holder, path), value)) {
          throw cannotApply(`the test of "${String(path)}" failed`);
        }
        break;
      default:
        throw cannotApply(`unknown operation ${JSON.stringify(op ?? null)}`);
    }
  }
  return holder.root;
}

/** The new state of an object, not checked yet. */
export type Change = (current: KubeObject) => unknown;

const TYPES = ['json-patch', 'merge-patch', 'strategic-merge-patch'].map(
  (type) => `application/${type}+json`,
);
const APPLY = 'application/apply-patch+';

/** Throws a 415 for a patch of an unknown type; server-side apply is one. */
export function checkPatchType(mediaType: string): void {
  if (TYPES.includes(mediaType)) return;
  const why = mediaType.startsWith(APPLY)
    ? 'server-side apply is not supported here: use `kubectl apply` without `--server-side`, or one of the patches'
    : `the body of the request was in an unknown format (${mediaType}) - accepted media types include:`;
  throw new ApiError('UnsupportedMediaType', `${why} ${TYPES.join(', ')}`);
}

/** The change that a patch makes. Throws a 400 where its form is not valid. */
export function changeOf(mediaType: string, patch: unknown, mergeKeys: MergeKeys): Change {
  switch (mediaType) {
    case 'application/json-patch+json':
      return (current) => jsonPatch(current, patch);
    case 'application/strategic-merge-patch+json':
      return (current) => strategicMergePatch(current, patch, mergeKeys);
    default:
      if (!isJsonObject(patch)) throw new ApiError('BadRequest', 'the patch is not an object');
      return (current) => mergePatch(current, patch);
  }
}
