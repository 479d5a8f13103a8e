import { ApiError, expired } from '../errors.js';
import { keyOf, type KubeObject } from '../object.js';
import type { ObjectSelector } from '../selectors/object-selector.js';
import { encodePageToken, parsePageToken } from '../store/page-token.js';
import { indexFrom } from '../store/sorted-items.js';
import type { Store } from '../store/store.js';
import type { ListOptions } from './query.js';
import type { ListMeta } from './representation.js';

/** What is listed. */
export interface ListScope {
  readonly resource: string;
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  /** The keys of its objects, and of no others, begin with this. */
  readonly prefix: string;
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
  const message = `Timeout: Too large resource version: ${wanted}, current: ${current}`;
  return new ApiError('Timeout', message, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

/** What a page shows: the list at a version, from a key on. */
interface PageStart {
  readonly revision: number;
  readonly from: string;
}

function startOf(store: Store, { prefix }: ListScope, options: ListOptions): PageStart {
  const { resourceVersion: wanted = 0, resourceVersionMatch: match, limit } = options;
  if (options.continue) {
    if (wanted !== 0) {
      const message = 'specifying resource version is not allowed when using continue';
      throw new ApiError('BadRequest', message);
    }
    const { revision, start } = parsePageToken(options.continue);
    return { revision: revision < 0 ? store.revision : revision, from: prefix + start };
  }
  if (wanted > store.revision) return { revision: wanted, from: prefix };
  // A limit with a version means that version, since long before there were matches.
  const isExact = match === 'Exact' || (match === '' && limit > 0 && wanted > 0);
  return { revision: isExact ? wanted : store.revision, from: prefix };
}

/** The version that a list needs, which may be yet to come; 0: any. */
export function versionOfList(options: ListOptions): number {
  if (!options.continue) return options.resourceVersion ?? 0;
  return parsePageToken(options.continue).revision;
}

/**
 * One page of a list. All pages of a list show the state at its first page; when that state is
 * discarded, a further page is a 410.
 */
export function listPage(store: Store, scope: ListScope, options: ListOptions): ListPage {
  const { revision, from } = startOf(store, scope, options);
  if (revision > store.revision) throw refuseFutureVersion(revision, store.revision);
  const all = store.listAt(scope.resource, revision);
  if (!all) throw refuseOldVersion(scope, options, from);
  // As the watch cache, which always answers such a list with everything.
  const isUnlimited = options.limit <= 0 || options.resourceVersion === 0;
  const limit = isUnlimited ? Infinity : options.limit;
  const { objects, remaining } = selectPage(all, from, scope, limit);
  const resourceVersion = String(revision);
  if (remaining === 0) return { objects, meta: { resourceVersion } };
  if (revision === store.revision) store.storeSnapshot(scope.resource);
  const start = `${keyOf(objects.at(-1)!).slice(scope.prefix.length)}\0`;
  return {
    objects,
    meta: {
      resourceVersion,
      continue: encodePageToken({ revision, start }),
      ...(!scope.hasSelector && { remainingItemCount: remaining }),
    },
  };
}

/** Source: storage/etcd3 interpretListError. */
function refuseOldVersion({ prefix }: ListScope, options: ListOptions, from: string): ApiError {
  if (!options.continue) return expired('The resourceVersion for the provided list is too old.');
  const message =
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';
  return expired(message, encodePageToken({ revision: -1, start: from.slice(prefix.length) }));
}

/**
 * The selected objects from a key on, at most `limit`, and the number of all objects after them, which
 * need not be selected.
 */
function selectPage(
  all: readonly KubeObject[],
  from: string,
  { prefix, selector, hasSelector }: ListScope,
  limit: number,
): { readonly objects: readonly KubeObject[]; readonly remaining: number } {
  const first = indexFrom(all, from, keyOf);
  const end = prefix === '' ? all.length : indexFrom(all, `${prefix}\uffff`, keyOf);
  // The usual list of everything costs only its page, whatever the number of objects.
  if (!hasSelector) {
    const objects = all.slice(first, Math.min(end, first + limit));
    return { objects, remaining: Math.max(0, end - first - limit) };
  }
  const objects: KubeObject[] = [];
  let next = first;
  while (next < end && objects.length < limit) {
    const object = all[next++]!;
    if (selector(object)) objects.push(object);
  }
  return { objects, remaining: end - next };
}
