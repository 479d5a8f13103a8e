import { ApiError, expired } from '../errors.js';
import { keyOf, type KubeObject } from '../object.js';
import type { ObjectSelector } from '../selectors/object-selector.js';
import { encodePageToken, parsePageToken, type PageToken } from '../store/page-token.js';
import type { Store } from '../store/store.js';
import { refuseLimit, type ListOptions } from './query.js';
import type { ListMeta } from './representation.js';

/** What is listed. */
export interface ListScope {
  readonly resource: string;
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  readonly selector: ObjectSelector;
  readonly hasSelector: boolean;
}

/** One page of a list. */
export interface ListPage {
  readonly objects: readonly KubeObject[];
  readonly meta: ListMeta;
}

/** The 504 for a version that is yet to come. Source: storage NewTooLargeResourceVersionError. */
export function refuseFutureVersion(wanted: number, current: number): ApiError {
  const message = `Too large resource version: ${wanted}, current: ${current}`;
  return new ApiError('Timeout', message, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

function startOf(store: Store, options: ListOptions): PageToken {
  const { resourceVersion: wanted, resourceVersionMatch: match } = options;
  if (options.continue) {
    if (wanted !== undefined && wanted !== 0) {
      const message = 'specifying resource version is not allowed when using continue';
      throw new ApiError('BadRequest', message);
    }
    return parsePageToken(options.continue);
  }
  if (wanted !== undefined && wanted > store.revision) {
    throw refuseFutureVersion(wanted, store.revision);
  }
  const revision = match === 'Exact' && wanted !== undefined ? wanted : store.revision;
  return { revision, after: '' };
}

/** Index of the first object whose key is greater than `key`. */
function indexAfter(objects: readonly KubeObject[], key: string): number {
  let [low, high] = [0, objects.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keyOf(objects[middle]!) <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * One page of a list. All pages of a list show the state at its first page; when that is
 * forgotten, a further page is a 410. `limit` 0 is everything at once.
 */
export function listPage(store: Store, scope: ListScope, options: ListOptions): ListPage {
  const { limit } = options;
  if (limit < 0) throw refuseLimit(limit);
  const start = startOf(store, options);
  const all = store.listAt(scope.resource, start.revision);
  if (!all) {
    throw expired(
      options.continue
        ? 'The provided continue parameter is too old to display a consistent list result. Start a new list without the continue parameter.'
        : `The resourceVersion for the provided list is too old: ${start.revision}`,
    );
  }
  const first = start.after === '' ? 0 : indexAfter(all, start.after);
  const { objects, left } = selectPage(all, first, scope, limit);
  const resourceVersion = String(start.revision);
  if (left === 0) return { objects, meta: { resourceVersion } };
  if (start.revision === store.revision) store.keepSnapshot(scope.resource);
  const token = encodePageToken({ revision: start.revision, after: keyOf(objects.at(-1)!) });
  return {
    objects,
    meta: {
      resourceVersion,
      continue: token,
      ...(!scope.hasSelector && { remainingItemCount: left }),
    },
  };
}

/** The first `limit` objects of the scope from an index on, and how many more there are. */
function selectPage(
  all: readonly KubeObject[],
  first: number,
  scope: ListScope,
  limit: number,
): { readonly objects: readonly KubeObject[]; readonly left: number } {
  // The usual list of everything costs no more than its page, however many objects there are.
  const isEverything = scope.namespace === undefined && !scope.hasSelector;
  const end = limit === 0 ? all.length : first + limit;
  if (isEverything) return { objects: all.slice(first, end), left: Math.max(0, all.length - end) };
  const rest = all
    .slice(first)
    .filter(
      (object) =>
        (scope.namespace === undefined || object.metadata.namespace === scope.namespace) &&
        scope.selector(object),
    );
  if (limit === 0) return { objects: rest, left: 0 };
  return { objects: rest.slice(0, limit), left: Math.max(0, rest.length - limit) };
}
