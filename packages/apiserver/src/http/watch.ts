import type { ServerResponse } from 'node:http';
import { expired, type ApiError } from '../errors.js';
import type { KubeObject } from '../object.js';
import type { StoreEvent } from '../store/event-history.js';
import type { Store } from '../store/store.js';
import type { ListScope } from './list.js';
import type { ListOptions } from './query.js';
import type { Representation } from './representation.js';
import { failureStatus } from './status.js';
import { WatchStream, type LazyEvent, type WatchEvent } from './watch-stream.js';
import type { WatchHub } from './watch-hub.js';

/** What the answer to a watch needs. */
export interface WatchRequest {
  readonly store: Store;
  readonly hub: WatchHub;
  readonly scope: ListScope;
  readonly options: ListOptions;
  readonly representation: Representation;
}

/** Annotation of the bookmark after the initial events. Source: metav1 InitialEventsAnnotationKey. */
const INITIAL_EVENTS_END = { 'k8s.io/initial-events-end': 'true' };

/** Source: kube-apiserver --min-request-timeout, which is doubled at random. */
const DEFAULT_TIMEOUT_SECONDS = 1800;
/** The longest delay of a Node timer. */
const MAX_TIMEOUT_SECONDS = 2_147_483;

/** The event of a change for a client with a selector; undefined when there is none. */
export function projectEvent(
  { type, object, previous }: StoreEvent,
  isSelected: (object: KubeObject) => boolean,
): { readonly type: StoreEvent['type']; readonly object: KubeObject } | undefined {
  const isIn = type !== 'DELETED' && isSelected(object);
  const wasIn = previous !== undefined && isSelected(previous);
  if (isIn) return { type: wasIn ? 'MODIFIED' : 'ADDED', object };
  if (!wasIn) return undefined;
  // An object that no longer matches is sent in its last matching state, with the new version.
  const { resourceVersion } = object.metadata;
  return {
    type: 'DELETED',
    object: { ...previous, metadata: { ...previous.metadata, resourceVersion } },
  };
}

/** All events before the first live event, created while they are sent. */
function* initialEvents(
  objects: readonly KubeObject[],
  history: readonly StoreEvent[],
  toEvent: (event: StoreEvent) => LazyEvent | undefined,
  request: WatchRequest,
  bookmark: LazyEvent | undefined,
): Generator<LazyEvent> {
  for (const object of objects) {
    yield () => ({ type: 'ADDED', object: request.representation.watched(object) });
  }
  if (bookmark) yield bookmark;
  for (const event of history) {
    const lazy = toEvent(event);
    if (lazy) yield lazy;
  }
}

function errorEvent(error: ApiError): WatchEvent {
  return { type: 'ERROR', object: failureStatus(error) };
}

/** Answers with one ERROR event, as kube-apiserver does for a version that it no longer has. */
function refuse(response: ServerResponse, error: ApiError): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(`${JSON.stringify(errorEvent(error))}\n`);
}

/** Where a watch begins: with objects, with past events, or with neither; undefined: too old. */
function startOf({
  store,
  scope,
  options,
}: WatchRequest):
  { readonly objects: readonly KubeObject[]; readonly history: readonly StoreEvent[] } | undefined {
  const { resourceVersion: from, sendsInitialEvents } = options;
  const isFromAny = from === undefined || from === 0;
  const sendsObjects = sendsInitialEvents ?? isFromAny;
  if (from !== undefined && from > store.revision) return undefined;
  if (sendsObjects) return { objects: store.list(scope.resource), history: [] };
  if (isFromAny) return { objects: [], history: [] };
  const history = store.eventsSince(scope.resource, from);
  return history && { objects: [], history };
}

/**
 * Answers a watch until the client disconnects, its time is over or the hub ends it. The caller
 * has checked the parameters.
 */
export function serveWatch(response: ServerResponse, request: WatchRequest): void {
  const { store, hub, scope, options, representation } = request;
  const start = startOf(request);
  if (!start) {
    const wanted = options.resourceVersion ?? 0;
    refuse(response, expired(`too old resource version: ${wanted} (${store.revision})`));
    return;
  }
  const isSelected = (object: KubeObject) =>
    (scope.namespace === undefined || object.metadata.namespace === scope.namespace) &&
    scope.selector(object);
  const toEvent = (event: StoreEvent): LazyEvent | undefined => {
    const seen = projectEvent(event, isSelected);
    return seen && (() => ({ type: seen.type, object: representation.watched(seen.object) }));
  };
  const bookmarkAt = (revision: number, annotations: Record<string, string> = {}) => {
    const object = representation.bookmark(String(revision), annotations);
    return (): WatchEvent => ({ type: 'BOOKMARK', object });
  };
  const endBookmark =
    options.sendsInitialEvents && options.allowsBookmarks
      ? bookmarkAt(store.revision, INITIAL_EVENTS_END)
      : undefined;
  const objects = start.objects.filter(isSelected);
  const initial = initialEvents(objects, start.history, toEvent, request, endBookmark);

  const stream = new WatchStream(response, initial, {
    queueLimit: hub.queueLimit,
    onClose() {
      unsubscribe();
      clearTimeout(timeout);
      clearInterval(bookmarks);
      hub.delete(stream);
    },
  });
  const unsubscribe = store.subscribe(scope.resource, (event) => {
    const lazy = toEvent(event);
    if (lazy) stream.push(lazy);
  });
  const sendBookmark = () => {
    if (options.allowsBookmarks) stream.push(bookmarkAt(store.revision));
  };
  const { timeoutSeconds = 0 } = options;
  const seconds =
    timeoutSeconds > 0 ? timeoutSeconds : DEFAULT_TIMEOUT_SECONDS * (1 + Math.random());
  const timeout = setTimeout(
    () => {
      sendBookmark();
      stream.end();
    },
    1000 * Math.min(seconds, MAX_TIMEOUT_SECONDS),
  );
  const bookmarks = setInterval(sendBookmark, hub.bookmarkIntervalMs);
  hub.add(scope.resource, stream);
  stream.start();
}
