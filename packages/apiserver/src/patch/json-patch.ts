import { isDeepStrictEqual } from 'node:util';
import { ApiError, messageOf } from '../errors.js';
import { isJsonObject } from '../object.js';
import { isSafeKey } from './merge-patch.js';

const MAX_OPERATIONS = 10_000;
/** What all copies of a patch add at most: each can double the document. Source: AccumulatedCopySizeLimit. */
const MAX_COPIED_BYTES = 3 * 1024 * 1024;

function refuse(why: string): ApiError {
  return new ApiError('Invalid', `the patch cannot be applied: ${why}`);
}

function parsePointer(pointer: unknown): string[] {
  if (typeof pointer !== 'string' || (pointer !== '' && !pointer.startsWith('/'))) {
    throw refuse(`${JSON.stringify(pointer ?? null)} is not a JSON pointer`);
  }
  const keys = pointer.split('/').slice(1);
  return keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function indexOf(list: readonly unknown[], key: string, last: number): number {
  const index = /^(0|[1-9]\d*)$/.test(key) ? Number(key) : -1;
  if (index < 0 || index > last) throw refuse(`no index "${key}" in a list of ${list.length}`);
  return index;
}

function getChild(parent: unknown, key: string): unknown {
  if (Array.isArray(parent)) return parent[indexOf(parent, key, parent.length - 1)];
  if (isJsonObject(parent) && Object.hasOwn(parent, key)) return parent[key];
  throw refuse(`path has no "${key}"`);
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
  else throw refuse(`nothing can be added at "${String(pointer)}"`);
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
    throw error instanceof ApiError ? error : refuse(messageOf(error));
  }
}

function applyAll(target: unknown, patch: readonly unknown[]): unknown {
  let copied = 0;
  const holder: Holder = { root: structuredClone(target) };
  for (const item of patch) {
    const { op, path, from, value } = isJsonObject(item) ? item : {};
    switch (op) {
      case 'add':
        add(holder, path, structuredClone(value));
        break;
      case 'remove':
        remove(holder, path);
        break;
      case 'replace':
        replace(holder, path, structuredClone(value));
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
          throw refuse(`the test of "${String(path)}" failed`);
        }
        break;
      default:
        throw refuse(`unknown operation ${JSON.stringify(op ?? null)}`);
    }
  }
  return holder.root;
}
