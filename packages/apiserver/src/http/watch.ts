import type { ServerResponse } from 'node:http';
import { expired } from '../errors.js';
import type { KubeObject } from '../object.js';
import type { StoreEvent } from '../store/event-history.js';
import type { Store } from '../store/store.js';
import { refuseFutureVersion, type ListScope } from './list.js';
import type { ListOptions } from './query.js';
import type { Representation } from './representation.js';
import { failureStatus, toApiError } from './status.js';
import { WatchStream, type LazyEvent, type WatchEvent } from './watch-stream.js';
import type { WatchHub } from './watch-hub.js';
import { startWatchTimers } from './watch-timers.js';

/** What the answer to a watch needs. */
export interface WatchRequest {
  readonly store: Store;
  readonly hub: WatchHub;
  readonly scope: ListScope;
  readonly options: ListOptions;
  readonly representation: Representation;
  /** Whether a bookmark marks the end of the initial events. */
  readonly marksInitialEnd: boolean;
}

/** Annotation of the bookmark after the initial events. Source: metav1 InitialEventsAnnotationKey. */
const INITIAL_EVENTS_END = { 'k8s.io/initial-events-end': 'true' };

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

/** Answers with these events alone. */
function answer(response: ServerResponse, ...events: readonly WatchEvent[]): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
}

/** Where a watch begins: with objects, with past events or with neither. */
interface WatchStart {
  readonly sendsObjects: boolean;
  readonly objects: readonly KubeObject[];
  readonly history: readonly StoreEvent[];
}

/** Throws a 410 for a version that is too old. A version that is yet to come has no events until then. */
function startOf({ store, scope, options }: WatchRequest): WatchStart {
  const { resourceVersion: from = 0, sendsInitialEvents } = options;
  const sendsObjects = sendsInitialEvents ?? from === 0;
  const { resource } = scope;
  if (sendsObjects) {
    if (from > store.revision) throw refuseFutureVersion(from, store.revision);
    return { sendsObjects, objects: store.list(resource), history: [] };
  }
  const history = from === 0 ? [] : store.eventsSince(resource, from);
  if (history) return { sendsObjects, objects: [], history };
  throw expired(`too old resource version: ${from} (${store.watchFloor(resource)})`);
}

/**
 * Answers a watch until the client disconnects, its time is over or the hub ends it. The caller
 * has checked the parameters.
 */
export function serveWatch(response: ServerResponse, request: WatchRequest): void {
  const { store, hub, scope, options, representation } = request;
  const after = options.resourceVersion ?? 0;
  if (options.timeoutSeconds < 0) {
    answer(response);
    return;
  }
  let start: WatchStart;
  try {
    start = startOf(request);
  } catch (error) {
    // As kube-apiserver, which refuses nothing with a status once it looks at the version.
    answer(response, { type: 'ERROR', object: failureStatus(toApiError(error)) });
    return;
  }
  const isSelected = (object: KubeObject) =>
    (scope.namespace === undefined || object.metadata.namespace === scope.namespace) &&
    scope.selector(object);
  const toEvent = (event: StoreEvent): LazyEvent | undefined => {
    const seen = event.revision > after ? projectEvent(event, isSelected) : undefined;
    return seen && (() => ({ type: seen.type, object: representation.watched(seen.object) }));
  };
  const bookmarkAt = (revision: number, annotations?: Record<string, string>) => {
    const resourceVersion = String(revision);
    const object = representation.bookmark({
      resourceVersion,
      ...(annotations && { annotations }),
    });
    return (): WatchEvent => ({ type: 'BOOKMARK', object });
  };
  const endBookmark =
    start.sendsObjects && request.marksInitialEnd && options.allowsBookmarks
      ? bookmarkAt(store.revision, INITIAL_EVENTS_END)
      : undefined;
  const objects = start.objects.filter(isSelected);
  const initial = initialEvents(objects, start.history, toEvent, request, endBookmark);

  const stream = new WatchStream(response, initial, {
    queueLimit: hub.queueLimit,
    queueBytes: hub.queueBytes,
    onClose() {
      unsubscribe();
      stopTimers();
      hub.delete(stream);
    },
  });
  const unsubscribe = store.subscribe(scope.resource, (event) => {
    const lazy = toEvent(event);
    if (lazy) stream.push(lazy, event.object);
  });
  const { bookmarks, bookmarkIntervalMs } = hub;
  const changedAt = () => store.lastChange(scope.resource);
  const beganAt = Math.max(after, changedAt());
  const stopTimers = startWatchTimers({
    timeoutSeconds: options.timeoutSeconds,
    bookmarks,
    bookmarkIntervalMs,
    sendBookmark() {
      const revision = bookmarks === 'rare' ? changedAt() : store.revision;
      const isDue = bookmarks === 'rare' ? revision > beganAt : revision >= after;
      if (options.allowsBookmarks && isDue) stream.push(bookmarkAt(revision));
    },
    end: () => stream.end(),
  });
  hub.add(scope.resource, stream);
  stream.start();
}
