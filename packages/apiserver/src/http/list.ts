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
  const isSelected = (object: KubeObject) =>
    (scope.namespace === undefined || object.metadata.namespace === scope.namespace) &&
    scope.selector(object);
  const rest = all.slice(start.after === '' ? 0 : indexAfter(all, start.after)).filter(isSelected);
  const resourceVersion = String(start.revision);
  if (limit === 0 || rest.length <= limit) return { objects: rest, meta: { resourceVersion } };
  const objects = rest.slice(0, limit);
  if (start.revision === store.revision) store.keepSnapshot(scope.resource);
  const token = encodePageToken({ revision: start.revision, after: keyOf(objects.at(-1)!) });
  return {
    objects,
    meta: {
      resourceVersion,
      continue: token,
      ...(!scope.hasSelector && { remainingItemCount: rest.length - limit }),
    },
  };
}
