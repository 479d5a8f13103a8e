import { ApiError } from '../errors.js';
import { findResource, RESOURCE_KINDS } from '../resources/resource-table.js';
import { hasStatus, type ResourceKind } from '../resources/resource-kind.js';

/** A part of an object with a path of its own. */
export type Subresource = 'scale' | 'status';

/** The resource of a URL below `/api` or `/apis`. */
export interface Target {
  readonly kind: ResourceKind;
  /** Undefined for cluster-scoped kinds and for all namespaces. */
  readonly namespace: string | undefined;
  /** Undefined for a collection. */
  readonly name: string | undefined;
  /** Undefined for the object itself. */
  readonly subresource: Subresource | undefined;
  /** Whether it is below `/watch/`, where everything is watched. */
  readonly isWatch: boolean;
}

/** The 404 for a path of the API that does not exist. */
export function noSuchPath(): ApiError {
  return new ApiError('NotFound', 'the server could not find the requested resource', {});
}

/** The 405 for a path that exists. */
export function methodNotAllowed(): ApiError {
  const message = 'the server does not allow this method on the requested resource';
  return new ApiError('MethodNotAllowed', message, {});
}

/** Whether a path is that of a served group, or below it: there each refusal is a `Status`. */
export function isOfApi(path: string): boolean {
  const [, root, group = ''] = path.split('/');
  if (root !== 'apis' || group === '') return root === 'api';
  return RESOURCE_KINDS.some((kind) => kind.group === group);
}

/** The subresources that a kind has. */
export function subresourcesOf(kind: ResourceKind): readonly Subresource[] {
  return [
    ...(kind.isScalable ? (['scale'] as const) : []),
    ...(hasStatus(kind) ? (['status'] as const) : []),
  ];
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
  const [root, ...segments] = path
    .replace(/^\/|\/$/g, '')
    .split('/')
    .map(decodeSegment);
  const group = root === 'apis' ? segments.shift() : '';
  const version = segments.shift();
  if ((root !== 'api' && root !== 'apis') || group === undefined || version === undefined) {
    throw noSuchPath();
  }
  const isWatch = segments[0] === 'watch';
  if (isWatch) segments.shift();
  // `namespaces/NAME` is the namespace itself, as is its status, `namespaces/NAME/PLURAL` a collection in it.
  const [first, , third] = segments;
  const isInNamespace = first === 'namespaces' && third !== undefined && third !== 'status';
  const namespace = isInNamespace ? segments[1] : undefined;
  const [plural = '', name, part, ...rest] = isInNamespace ? segments.slice(2) : segments;
  const kind = findResource(group, version, plural);
  const subresource = kind && subresourcesOf(kind).find((item) => item === part);
  const isMisplaced = kind?.isNamespaced
    ? name !== undefined && namespace === undefined
    : namespace !== undefined;
  if (!kind || isMisplaced || part !== subresource || rest.length > 0) throw noSuchPath();
  if (name === '' || namespace === '' || (isWatch && part !== undefined)) throw noSuchPath();
  return { kind, namespace, name, subresource, isWatch };
}
