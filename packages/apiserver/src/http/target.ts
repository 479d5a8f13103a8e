import { ApiError } from '../errors.js';
import { findResource } from '../resources/resource-table.js';
import type { ResourceKind } from '../resources/resource-kind.js';

/** The resource of a URL below `/api` or `/apis`. */
export interface Target {
  readonly kind: ResourceKind;
  /** Undefined for cluster-scoped kinds and for all namespaces. */
  readonly namespace: string | undefined;
  /** Undefined for a collection. */
  readonly name: string | undefined;
  /** Whether it is the scale of the object. */
  readonly isScale: boolean;
}

/** The 404 for a path that does not exist. */
export function noSuchPath(): ApiError {
  return new ApiError('NotFound', 'the server could not find the requested resource');
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw noSuchPath();
  }
}

/** Finds the resource of a path. Throws a 404 when there is none. */
export function parseTarget(path: string): Target {
  const [root, ...segments] = path.replace(/^\//, '').split('/').map(decodeSegment);
  const group = root === 'apis' ? segments.shift() : '';
  const version = segments.shift();
  if ((root !== 'api' && root !== 'apis') || group === undefined || version === undefined) {
    throw noSuchPath();
  }
  // `namespaces/NAME` is the namespace itself, `namespaces/NAME/PLURAL` a collection in it.
  const isInNamespace = segments[0] === 'namespaces' && segments.length > 2;
  const namespace = isInNamespace ? segments[1] : undefined;
  const [plural = '', name, ...rest] = isInNamespace ? segments.slice(2) : segments;
  const kind = findResource(group, version, plural);
  const isScale = kind?.isScalable === true && name !== undefined && rest[0] === 'scale';
  if (isScale) rest.shift();
  const isMisplaced = kind?.isNamespaced
    ? name !== undefined && namespace === undefined
    : namespace !== undefined;
  if (!kind || isMisplaced || rest.length > 0 || name === '' || namespace === '') {
    throw noSuchPath();
  }
  return { kind, namespace, name, isScale };
}
