import type { ServerResponse } from 'node:http';
import { expired } from '../errors.js';
import type { KubeObject } from '../object.js';
import type { Store, StoreEvent } from '../store.js';
import { failureStatus, toApiError, type Representation } from './answer.js';
import { refuseFutureVersion, type ListScope } from './list.js';
import type { ListOptions } from './request.js';

const BOOKMARKS = ['usual', 'rare'] as const;

/**
 * How often bookmarks are sent, each with the version of the last write. `usual`: in each interval and
 * at the end of a watch. `rare`: as by a kube-apiserver without progress notifications of etcd, so only
 * when its resource has changed in the watch, and for the last time two seconds before the end.
 */
export type Bookmarks = (typeof BOOKMARKS)[number];

/** Whether a value says how often bookmarks are sent. */
export function isBookmarks(value: unknown): value is Bookmarks {
  return BOOKMARKS.some((bookmarks) => bookmarks === value);
}

interface WatchLimits {
  /** Events that may wait for one slow client. */
  readonly queueLimit: number;
  /** Bytes that may wait for one slow client. */
  readonly queueBytes: number;
  readonly bookmarkIntervalMs: number;
}

/** All open watches, which can be ended or silenced together. */
export class WatchHub {
  readonly limits: WatchLimits;
  /** How often the watches that are opened from now on get bookmarks. */
  bookmarks: Bookmarks = 'usual';
  readonly #streams = new Map<WatchStream, string>();
  #isSilent = false;

  constructor(limits: WatchLimits) {
    this.limits = limits;
  }

  add(resource: string, stream: WatchStream): void {
    this.#streams.set(stream, resource);
    if (this.#isSilent) stream.setSilent(true);
  }

  delete(stream: WatchStream): void {
    this.#streams.delete(stream);
  }

  /** Number of open watches of a resource, or of all. */
  count(resource?: string): number {
    const resources = [...this.#streams.values()];
    return resources.filter((item) => resource === undefined || item === resource).length;
  }

  dropAll(): void {
    for (const stream of this.#streams.keys()) stream.destroy();
  }

  /** Makes every open and future watch hold its events back, or ends that. */
  setSilent(isSilent: boolean): void {
    this.#isSilent = isSilent;
    for (const stream of this.#streams.keys()) stream.setSilent(isSilent);
  }
}

const LENGTHS = new WeakMap<object, number>();

/** The length of an object's JSON, which is computed once: stored objects are never changed in place. */
function jsonLength(object: object): number {
  const cached = LENGTHS.get(object);
  if (cached !== undefined) return cached;
  const { length } = JSON.stringify(object);
  LENGTHS.set(object, length);
  return length;
}

/** One line of a watch. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: unknown;
}

/** An event that is encoded only when it can be sent. */
type LazyEvent = () => WatchEvent;

interface WaitingEvent {
  readonly event: LazyEvent;
  /** Counted only if the event cannot be sent at once. */
  bytes: number;
}

/**
 * The answer to a watch: JSON lines, no faster than the client reads. The connection of a client
 * that is too slow is broken, so that its memory is bounded; the client lists again.
 */
class WatchStream {
  readonly #response: ServerResponse;
  readonly #limits: WatchLimits;
  readonly #initial: Iterator<LazyEvent>;
  #queue: WaitingEvent[] = [];
  #waitingBytes = 0;
  #state: 'open' | 'ending' | 'closed' = 'open';
  #isBlocked = false;
  #isSilent = false;

  constructor(
    response: ServerResponse,
    initial: Iterable<LazyEvent>,
    limits: WatchLimits,
    onClose: () => void,
  ) {
    this.#response = response;
    this.#limits = limits;
    this.#initial = initial[Symbol.iterator]();
    response.on('drain', () => {
      this.#isBlocked = false;
      this.#pump();
    });
    response.once('close', () => {
      this.#state = 'closed';
      this.#queue = [];
      onClose();
    });
  }

  /** Sends the head and the initial events. */
  start(): void {
    this.#response.writeHead(200, { 'content-type': 'application/json' });
    this.#response.flushHeaders();
    this.#pump();
  }

  /** Sends an event, which holds `object`, as soon as the client has read the events before it. */
  push(event: LazyEvent, object?: object): void {
    if (this.#state !== 'open') return;
    const waiting = { event, bytes: 0 };
    this.#queue.push(waiting);
    this.#pump();
    if (this.#queue.length === 0) return;
    waiting.bytes = object ? jsonLength(object) : 0;
    this.#waitingBytes += waiting.bytes;
    const { queueLimit, queueBytes } = this.#limits;
    if (this.#queue.length > queueLimit || this.#waitingBytes > queueBytes) {
      this.destroy();
    }
  }

  /** A silent stream holds its events back until it is no longer silent. */
  setSilent(isSilent: boolean): void {
    this.#isSilent = isSilent;
    this.#pump();
  }

  /** Ends the answer in order, or breaks the connection while the client has events to read. */
  end(): void {
    if (this.#state === 'closed') return;
    this.#state = 'ending';
    if (this.#isSilent) return;
    this.#pump();
    if (this.#isBlocked) this.destroy();
  }

  destroy(): void {
    this.#response.destroy();
  }

  get #canWrite(): boolean {
    return !this.#isBlocked && !this.#isSilent && this.#state !== 'closed';
  }

  #pump(): void {
    while (this.#canWrite) {
      const next = this.#initial.next();
      if (next.done) break;
      this.#write(next.value);
    }
    let sent = 0;
    while (this.#canWrite && sent < this.#queue.length) {
      const { event, bytes } = this.#queue[sent++]!;
      this.#waitingBytes -= bytes;
      this.#write(event);
    }
    this.#queue.splice(0, sent);
    if (this.#state === 'ending' && this.#canWrite) this.#response.end();
  }

  #write(event: LazyEvent): void {
    this.#isBlocked = !this.#response.write(`${JSON.stringify(event())}\n`);
  }
}

/** Source: kube-apiserver --min-request-timeout, which is doubled at random. */
const DEFAULT_TIMEOUT_SECONDS = 1800;
/** The longest delay of a Node timer. */
const MAX_TIMEOUT_SECONDS = 2_147_483;
/** Source: storage/cacher nextBookmarkTime. */
const RARE_LEAD_MS = 2000;

interface WatchTimersOptions {
  /** What the client asked for; 0: the default of the server; negative: over at once. */
  readonly timeoutSeconds: number;
  readonly bookmarks: Bookmarks;
  readonly bookmarkIntervalMs: number;
  readonly sendBookmark: () => void;
  readonly end: () => void;
}

/** Has bookmarks sent to a watch and ends it when its time is over. The returned function stops that. */
export function startWatchTimers(options: WatchTimersOptions): () => void {
  const { timeoutSeconds, sendBookmark, end, bookmarks, bookmarkIntervalMs } = options;
  const seconds =
    timeoutSeconds === 0 ? DEFAULT_TIMEOUT_SECONDS * (1 + Math.random()) : timeoutSeconds;
  const timeoutMs = 1000 * Math.min(seconds, MAX_TIMEOUT_SECONDS);
  const lastMs = bookmarks === 'rare' ? timeoutMs - RARE_LEAD_MS : timeoutMs;
  // Timers of the same time are called in the order of their creation.
  const last = lastMs > 0 ? setTimeout(sendBookmark, lastMs) : undefined;
  const timeout = setTimeout(end, timeoutMs);
  const interval = setInterval(sendBookmark, bookmarkIntervalMs);
  return () => {
    clearTimeout(last);
    clearTimeout(timeout);
    clearInterval(interval);
  };
}

interface WatchRequest {
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
function projectEvent(
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
  /** All events before the first live event, created while they are sent. */
  function* initialEvents(): Generator<LazyEvent> {
    for (const object of objects) {
      yield () => ({ type: 'ADDED', object: representation.watched(object) });
    }
    if (endBookmark) yield endBookmark;
    for (const event of start.history) {
      const lazy = toEvent(event);
      if (lazy) yield lazy;
    }
  }

  const stream = new WatchStream(response, initialEvents(), hub.limits, () => {
    unsubscribe();
    stopTimers();
    hub.delete(stream);
  });
  const unsubscribe = store.subscribe(scope.resource, (event) => {
    const lazy = toEvent(event);
    if (lazy) stream.push(lazy, event.object);
  });
  const { bookmarks, limits } = hub;
  const changedAt = () => store.lastChange(scope.resource);
  const beganAt = Math.max(after, changedAt());
  const stopTimers = startWatchTimers({
    timeoutSeconds: options.timeoutSeconds,
    bookmarks,
    bookmarkIntervalMs: limits.bookmarkIntervalMs,
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
