import { ApiError, expired } from '../errors.js';
import { keyOf, type KubeObject } from '../object.js';
import type { ObjectSelector } from '../selectors/object-selector.js';
import { encodePageToken, parsePageToken, type PageToken } from '../store/page-token.js';
import { indexAfter } from '../store/sorted-items.js';
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

/** The 504 for a future version. Source: storage NewTooLargeResourceVersionError. */
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

/**
 * One page of a list. All pages of a list show the state at its first page; when that state is
 * discarded, a further page is a 410. `limit` 0 returns the whole list.
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
  const first = start.after === '' ? 0 : indexAfter(all, start.after, keyOf);
  const { objects, remaining } = selectPage(all, first, scope, limit);
  const resourceVersion = String(start.revision);
  if (remaining === 0) return { objects, meta: { resourceVersion } };
  if (start.revision === store.revision) store.storeSnapshot(scope.resource);
  const token = encodePageToken({ revision: start.revision, after: keyOf(objects.at(-1)!) });
  return {
    objects,
    meta: {
      resourceVersion,
      continue: token,
      ...(!scope.hasSelector && { remainingItemCount: remaining }),
    },
  };
}

/** The first `limit` objects of the scope from an index on, and the number of those after them. */
function selectPage(
  all: readonly KubeObject[],
  first: number,
  scope: ListScope,
  limit: number,
): { readonly objects: readonly KubeObject[]; readonly remaining: number } {
  // The usual list of everything costs only its page, whatever the number of objects.
  const isEverything = scope.namespace === undefined && !scope.hasSelector;
  const end = limit === 0 ? all.length : first + limit;
  if (isEverything)
    return { objects: all.slice(first, end), remaining: Math.max(0, all.length - end) };
  const rest = all
    .slice(first)
    .filter(
      (object) =>
        (scope.namespace === undefined || object.metadata.namespace === scope.namespace) &&
        scope.selector(object),
    );
  if (limit === 0) return { objects: rest, remaining: 0 };
  return { objects: rest.slice(0, limit), remaining: Math.max(0, rest.length - limit) };
}
