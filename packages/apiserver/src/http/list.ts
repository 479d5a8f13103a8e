import { posix } from 'node:path';
import { ApiError, expired } from '../errors.js';
import { isJsonObject, keyOf, type KubeObject } from '../object.js';
import type { ObjectSelector } from '../selectors.js';
import { indexFrom, type Store } from '../store.js';
import type { Verb } from '../switches.js';
import type { ListMeta } from './answer.js';
import { parseListOptions, readVersion, type ListOptions } from './request.js';

/** Where the next page of a list begins. Source: storage continueToken. */
interface PageToken {
  /** The version whose state the list shows; negative: the present one. */
  readonly revision: number;
  /** The least key of the page, without the prefix that all keys of the list have. */
  readonly start: string;
}

const TOKEN_VERSION = 'meta.k8s.io/v1';

function encodePageToken({ revision, start }: PageToken): string {
  const value = { v: TOKEN_VERSION, rv: revision, start: `/${start}` };
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** Parses a `continue` text. Throws a 400 when it is not valid. */
function parsePageToken(text: string): PageToken {
  const value = parseBase64(text);
  if (!isJsonObject(value)) throw refusal('');
  const { v, rv, start } = value;
  if (v !== TOKEN_VERSION) {
    const version = typeof v === 'string' ? v : '';
    throw refusal(`: server does not recognize this encoded version ${version}`);
  }
  if (!Number.isSafeInteger(rv) || rv === 0) {
    throw refusal(`: incorrect encoded start resourceVersion (version ${TOKEN_VERSION})`);
  }
  if (typeof start !== 'string' || start === '') {
    throw refusal(`: encoded start key empty (version ${TOKEN_VERSION})`);
  }
  const path = start.startsWith('/') ? start : `/${start}`;
  if (posix.resolve(path) !== path) throw refusal(`: ${start}`);
  return { revision: Number(rv), start: path.slice(1) };
}

function parseBase64(text: string): unknown {
  if (!/^[\w-]*$/.test(text)) return undefined;
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return undefined;
  }
}

function refusal(why: string): ApiError {
  return new ApiError('BadRequest', `invalid continue token: continue key is not valid${why}`);
}

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

/** The 504 for a future version. Source: storage NewTooLargeResourceVersionError. */
export function refuseFutureVersion(wanted: number, current: number): ApiError {
  const message = `Timeout: Too large resource version: ${wanted}, current: ${current}`;
  return new ApiError('Timeout', message, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

/** What a page shows: the list at a version, from a key on. */
function startOf(
  store: Store,
  { prefix }: ListScope,
  options: ListOptions,
): { readonly revision: number; readonly from: string } {
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

/**
 * One page of a list. All pages of a list show the state at its first page; when that state is
 * discarded, a further page is a 410.
 */
export function listPage(
  store: Store,
  scope: ListScope,
  options: ListOptions,
): { readonly objects: readonly KubeObject[]; readonly meta: ListMeta } {
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

/** The version that the answer to a read must have at least, which may be yet to come; 0: any. */
export function requiredVersion(verb: Verb, query: URLSearchParams): number {
  if (verb === 'get') return readVersion(query, false) ?? 0;
  if (verb === 'list') {
    const { continue: token, resourceVersion = 0 } = parseListOptions(query);
    return token ? parsePageToken(token).revision : resourceVersion;
  }
  if (verb !== 'watch') return 0;
  const { sendsInitialEvents, resourceVersion = 0 } = parseListOptions(query, true);
  // Another watch waits for later events itself.
  return sendsInitialEvents ? resourceVersion : 0;
}
