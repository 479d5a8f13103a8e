import { isJsonObject, type JsonObject } from '../object.js';

/**
 * Whether a key may be written by assignment. `__proto__` would change the object's prototype
 * instead; no Kubernetes field has that name.
 */
export function isSafeKey(key: string): boolean {
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
