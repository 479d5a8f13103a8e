import { errorText, LoopTurn } from '@kube-dns/base';
import { type Log } from '@kube-dns/daemon';
import { ApiError, StreamError } from '../errors.js';
import type { ApiBody, ApiReader } from './api-client.js';
import type { VersionListener } from './cluster-version.js';
import { History, type Landmark } from './history.js';
import { ItemReader, LineReader, listKind, readObjectHead, Unread } from './json-stream.js';
import {
  DEFAULT_PACE,
  isRefusal,
  needsList,
  RESTART_REASONS,
  restartReason,
  type RestartReason,
  RetryPauses,
  Task,
  type WatchPace,
  withLimit,
} from './pace.js';
import { getWithSecondTry } from './second-try.js';
import {
  type ApiObject,
  DEFAULT_STORE_LIMITS,
  type ObjectSink,
  ObjectStore,
  type Projection,
  type StoreLimits,
  versionOf,
} from './store.js';

export interface ListWatchOptions<T extends ApiObject, K extends Projection> {
  readonly client: ApiReader;
  /** As `/api/v1/services`. */
  readonly path: string;
  readonly sink: ObjectSink<T, K>;
  /** What is asked for to learn the version alone; the service `kubernetes` unless given. */
  readonly landmark?: Landmark;
  readonly log: Log;
  readonly random?: (() => number) | undefined;
  readonly pace?: Partial<WatchPace> | undefined;
  readonly limits?: StoreLimits | undefined;
  /** Called after the first complete list, and after the first one that follows `onDenied` or `forget`. */
  readonly onSynced: () => void;
  /**
   * Called when the server forbids or does not have the resource: at the first time, or at the second in a
   * row after a complete list. Called again only after `onSynced`.
   */
  readonly onDenied?: (() => void) | undefined;
  /** Of an optional resource: whether the server did not have it at the last try, as far as is known. */
  readonly isAbsent?: (() => boolean) | undefined;
  /** Called when the cluster proves to be restored or another one; `relist` the other resources then. */
  readonly onRestored?: (reason: string) => void;
  /** Called when the server is reached after a snapshot was taken: it has the same history, a list is complete, or access denied. */
  readonly onReached?: () => void;
  /** Called after each failure with the number of failures since the last complete list. */
  readonly onFailure?: (inARow: number) => void;
  /** Takes the versions of what is applied. */
  readonly versions?: VersionListener | undefined;
  /** Called after a change of a watch was applied, with the ms since its bytes arrived, and the object unless it is deleted. */
  readonly onEvent?: ((latencyMs: number, object: T | undefined) => void) | undefined;
}

/** Live counts of one resource. */
export interface ResourceStatistics {
  /** As `services`. */
  readonly resource: string;
  /** Stored objects. */
  readonly objects: number;
  /** When the last event, bookmark or complete list arrived, by `performance.now()`; 0 before the first. */
  readonly lastEventMs: number;
  /** Complete lists after the first. */
  readonly relists: number;
  readonly restarts: Readonly<Record<RestartReason, number>>;
  /** Invalid objects and lines, each time they arrived. */
  readonly rejected: number;
  /** Objects that were too large to be read, each time they arrived. */
  readonly passedOver: number;
  /** Whether the objects exceed a limit, so that some are missing. */
  readonly isOverLimit: boolean;
  /** What exceeds which limit then; '' otherwise. */
  readonly excess: string;
  /** Whether a watch is open. */
  readonly isConnected: boolean;
  /** Whether the resource is followed: endpoints only are where slices are denied. */
  readonly isWatched: boolean;
  /** Whether it was listed once. */
  readonly isSynced: boolean;
  /** Whether the server forbade or did not have it at the last try. */
  readonly isDenied: boolean;
  /** Whether the cluster's zone does without it. */
  readonly isOptional: boolean;
  /** Whether it is denied because the server does not have it. */
  readonly isAbsent: boolean;
  /** The resourceVersion to continue from; '' while a list is needed. */
  readonly version: string;
  /** Why a try failed last; '' when none did. */
  readonly lastFailure: string;
  /**
   * Milliseconds since the last contact with the server; 0 while the resource is denied or not watched, and for the first 11 s
   * of an open watch without a byte: it may have nothing to say.
   */
  readonly noContactMs: number;
}

/** What a snapshot says of the objects of one resource. */
export interface SnapshotState {
  /** The resourceVersion that they are not older than. */
  readonly version: string;
  /** The UID of the object that shows which cluster it is; '' where that is not known. */
  readonly uid: string;
}

/** An object that was added, changed or deleted, or a bookmark. */
export interface WatchEvent<T extends ApiObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}

/** For the answer whether the server is there. */
const ANSWER_MS = 1_000;
/** Fewer bytes than this within `listStallMs` are no progress. */
const MIN_PROGRESS_BYTES = 1_024;
/** Of all pages, decompressed; 60,000 objects are 190 MB. */
const MAX_LIST_BYTES = 1024 * 1024 * 1024;
/** A server that sends less of a page than was asked for has a hundred objects in each, where there are many. */
const MAX_PAGES = 1_000;
const MIN_PAGE_OBJECTS = 100;

/**
 * Follows one resource of the API for ever: a list, then watches from its version, and a new list when the
 * server no longer has that version. It stores projections of the objects; of a new list only changes reach
 * the sink. The objects stay while the server is away.
 *
 *     list ──▶ watch ──▶ pause ──▶ watch …
 *      ▲         │ its version is gone or suspect, its data are not valid or too many
 *      └─ pause ─┘
 */
export class ListWatch<T extends ApiObject, K extends Projection> implements ResourceStatistics {
  readonly resource: string;
  isSynced = false;
  isDenied = false;
  /** Whether the objects are those of a snapshot, and the server has not shown since that it has their history. */
  isFromSnapshot = false;
  isConnected = false;
  /** Whether nothing listened at the server's address at the last try. */
  isRefused = false;
  lastFailure = '';
  lastEventMs = 0;
  relists = 0;
  excess = '';
  readonly restarts = Object.fromEntries(RESTART_REASONS.map((reason) => [reason, 0])) as Record<
    RestartReason,
    number
  >;
  readonly #options: ListWatchOptions<T, K>;
  readonly #pace: WatchPace;
  readonly #random: () => number;
  readonly #log: ResourceLog;
  readonly #pauses: RetryPauses;
  readonly #history: History;
  readonly #store: ObjectStore<T, K>;
  readonly #turn = new LoopTurn();
  /** The loop, from `start` to `stop`. */
  #loop: Task | undefined;
  /** The try or the pause of the loop that is going on. */
  #step = new Task();
  #loopEnd: Promise<void> = Promise.resolve();
  #isClosed = false;
  #lastContactMs = performance.now();
  #failures = 0;
  #denialsInARow = 0;
  /** The cluster has another history, so that all is listed again. */
  #isRestored = false;
  /** Of the list that stands for a snapshot. */
  #snapshotNumber = 0;

  constructor(options: ListWatchOptions<T, K>) {
    const { client, path, random = Math.random } = options;
    this.#options = options;
    this.resource = path.slice(path.lastIndexOf('/') + 1);
    this.#pace = { ...DEFAULT_PACE, ...options.pace };
    this.#random = random;
    this.#log = new ResourceLog(options.log, path);
    this.#pauses = new RetryPauses(this.#pace, random);
    this.#history = new History({
      client,
      path,
      pace: this.#pace,
      landmark: options.landmark,
      onAnswer: () => this.#noteContact(),
      onProved: () => this.#reach(),
      onRestored: (error) => this.#step.abort(error),
      onIdentity: (uid) => options.versions?.onIdentity(uid),
    });
    this.#store = new ObjectStore(options.sink, (...of) => this.reject(...of), options.limits);
  }

  get rejected(): number {
    return this.#log.rejected;
  }

  get passedOver(): number {
    return this.#log.passedOver;
  }

  get objects(): number {
    return this.#store.size;
  }

  get version(): string {
    return this.#history.version;
  }

  /** Changes of the stored objects so far. */
  get changes(): number {
    return this.#store.changes;
  }

  /** Undefined while no list is known, or the cluster proved to be another one. */
  get snapshotState(): SnapshotState | undefined {
    const { lastVersion: version, uid } = this.#history;
    return this.isSynced && version !== '' ? { version, uid } : undefined;
  }

  /** The objects for a snapshot, none older than the version that `snapshotState` had before; see `ObjectStore.objects`. */
  snapshotObjects(): Iterable<ApiObject> {
    return this.#store.objects();
  }

  get isOverLimit(): boolean {
    return this.excess !== '';
  }

  get isOptional(): boolean {
    return this.#options.isAbsent !== undefined;
  }

  get isAbsent(): boolean {
    return this.isDenied && this.#options.isAbsent?.() === true;
  }

  get isWatched(): boolean {
    return this.#loop !== undefined;
  }

  get noContactMs(): number {
    if (this.isDenied || !this.isWatched) return 0;
    const isSilent = this.isConnected && this.#awayMs < this.#pace.aliveMs + ANSWER_MS;
    return isSilent ? 0 : this.#awayMs;
  }

  /** Starts, or continues after `stop`. */
  start(): void {
    if (this.#isClosed || this.isWatched) return;
    // What a snapshot has is as old as it is.
    if (!this.isFromSnapshot) this.#noteContact();
    const loop = new Task();
    this.#loop = loop;
    this.#loopEnd = this.#loopEnd.then(() => this.#run(loop));
  }

  /** Ends the request in flight; nothing reaches the sink afterwards. Stored objects stay. */
  async stop(): Promise<void> {
    this.#history.cancel();
    this.#loop?.abort();
    this.#loop = undefined;
    await this.#loopEnd;
  }

  /** Stops for ever. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.stop();
    this.#log.close();
  }

  /** Drops all stored objects and notifies the sink. A list in progress begins again; no watch may be open. */
  async forget(): Promise<void> {
    this.isSynced = false;
    this.#reach();
    this.#history.forget();
    await this.#store.forget(new LoopTurn());
  }

  /** Begins to take the objects of a snapshot in place of a list. The watch must be stopped. */
  beginSnapshot(): void {
    this.#snapshotNumber = this.#store.beginList();
  }

  /** Takes an object of a snapshot. Throws a StreamError (`full`) for one beyond the limits. */
  putOfSnapshot(object: T): void {
    this.#store.put(object);
  }

  /**
   * The snapshot is complete, and what it has was known to be true `ageMs` ago. A list follows, however young it is: only that shows
   * that each object is one of the cluster. Resolves to false when the objects were dropped meanwhile.
   */
  async endSnapshot({ version, uid }: SnapshotState, ageMs: number): Promise<boolean> {
    if (!(await this.#store.endList(this.#snapshotNumber, this.#turn))) return false;
    this.#history.resume(version, uid);
    const { versions, onSynced } = this.#options;
    versions?.onList(version);
    versions?.onKnown(version);
    this.#lastContactMs = performance.now() - ageMs;
    this.isSynced = this.isFromSnapshot = true;
    onSynced();
    this.#loseHistory();
    return true;
  }

  /** Lists again, as another resource showed that the cluster was restored; the objects stay until then. */
  relist(reason: string): void {
    if (this.#isRestored) return;
    this.#isRestored = true;
    this.#step.abort(new StreamError('restored', reason));
  }

  /** Counts and logs an object or a line that was left out. */
  reject(what: string, reason: string): void {
    this.#log.reject(what, reason);
  }

  async #run(loop: Task): Promise<void> {
    while (!loop.isAborted) {
      const pauseMs = await this.#try(loop);
      if (pauseMs === 0) continue;
      this.#step = new Task(loop.signal);
      await this.#step.pause(pauseMs);
    }
  }

  /** Lists or watches. Resolves to the pause that follows, in ms. */
  async #try(loop: Task): Promise<number> {
    this.#step = new Task(loop.signal);
    const { signal } = this.#step;
    try {
      if (this.#isRestored) {
        this.#isRestored = false;
        this.restarts.restored++;
        this.#history.forget();
        this.#store.forgetVersions();
      }
      // A restored cluster may have overtaken the version by now, which then shows nothing.
      if (this.version !== '' && this.#awayMs > this.#pace.relistAwayMs) this.#loseHistory();
      const pauseMs = await (this.version === '' ? this.#list(signal) : this.#watch(signal));
      signal.throwIfAborted();
      return pauseMs;
    } catch (error) {
      return loop.isAborted ? 0 : this.#recover(error);
    }
  }

  /** Returns the pause before the next try, in ms. */
  #recover(error: unknown): number {
    const reason = restartReason(error);
    if (reason === 'garbled') this.#log.rejected++;
    const failure = (this.lastFailure = errorText(error));
    this.isRefused = isRefusal(error);
    // Counted when it begins anew, as other resources do then.
    if (reason !== 'restored') this.restarts[reason]++;
    else if (!this.#isRestored) {
      this.#isRestored = true;
      this.#options.onRestored?.(`${this.resource}: ${failure}`);
    }
    if (needsList(reason)) this.#history.lose();
    // What happened while the watch was silent is not known.
    if (reason === 'idle' && this.version !== '') this.#loseHistory();
    if (reason === 'full') this.excess = failure;
    this.#options.onFailure?.(++this.#failures);
    const wasDenied = this.isDenied;
    if (reason === 'denied') this.#deny();
    else this.#denialsInARow = 0;
    const isLasting = reason === 'full' || (reason === 'denied' && this.isDenied);
    const pauseMs = this.#pauses.next(error, isLasting);
    // The refusal that counts is the one after which the pauses are long.
    const isDetail = isLasting ? wasDenied : reason === 'denied' && this.#canBeDenied;
    this.#log.restarting(reason, failure, pauseMs, isDetail);
    return pauseMs;
  }

  /** Whether others do without it while it is denied. */
  get #canBeDenied(): boolean {
    return this.#options.onDenied !== undefined;
  }

  #deny(): void {
    // A server may refuse once by mistake, while its roles are not loaded yet.
    const isOnce = ++this.#denialsInARow < 2 && this.isSynced;
    if (!this.#canBeDenied || this.isDenied || isOnce) return;
    this.isDenied = true;
    this.excess = '';
    this.#reach();
    this.#options.onDenied?.();
  }

  /** The version may be of another history, in which other objects may have the same versions: a list follows. */
  #loseHistory(): void {
    this.#history.lose();
    this.#store.forgetVersions();
  }

  /** The server has the objects from now on. */
  #reach(): void {
    if (!this.isFromSnapshot) return;
    this.isFromSnapshot = false;
    this.#options.onReached?.();
  }

  get #awayMs(): number {
    return performance.now() - this.#lastContactMs;
  }

  #noteContact(arrivedMs = performance.now()): void {
    this.#lastContactMs = arrivedMs;
    this.isRefused = false;
  }

  async #list(signal: AbortSignal): Promise<number> {
    const number = this.#store.beginList();
    const version = await this.#readList(signal);
    this.#history.noteList(version);
    // What is removed now was deleted up to this version.
    this.#options.versions?.onList(version);
    if (!(await this.#store.endList(number, this.#turn))) {
      throw new StreamError('closed', 'the objects were dropped during the list');
    }
    this.#history.begin(version);
    this.#options.versions?.onKnown(version);
    this.lastEventMs = performance.now();
    this.#failures = this.#denialsInARow = 0;
    this.excess = '';
    this.#reach();
    if (this.isSynced) {
      this.relists++;
      this.#log.info(`${this.#store.size} objects, listed again`);
      if (!this.isDenied) return 0;
    }
    this.isSynced = true;
    this.isDenied = false;
    this.#log.info(`${this.#store.size} objects`);
    this.#options.onSynced();
    return 0;
  }

  /**
   * Reads a list item by item, in pages where the server supports them, and resolves to its version. It asks
   * for the current state (no `resourceVersion`): with `resourceVersion=0` a server ignores `limit` and may
   * answer from a stale cache, so that a new list could bring deleted objects back. Rejects with a StreamError:
   * a list of more bytes or pages than any real one is `garbled`, and the objects that are stored stay.
   */
  async #readList(signal: AbortSignal): Promise<string> {
    const { maxObjects } = this.#options.limits ?? DEFAULT_STORE_LIMITS;
    const maxPages = Math.max(MAX_PAGES, Math.ceil(maxObjects / MIN_PAGE_OBJECTS));
    let token = '';
    let bytes = 0;
    for (let page = 0; page < maxPages; page++) {
      const { meta, items, pageBytes } = await this.#readPage(
        signal,
        token,
        MAX_LIST_BYTES - bytes,
      );
      bytes += pageBytes;
      if (meta.continue === '') return meta.resourceVersion;
      if (meta.continue === token)
        throw new StreamError('garbled', 'a page names itself as the next');
      // An API server fills its pages, also where it selects; this could go on for ever.
      if (items === 0) throw new StreamError('garbled', 'a page without items names a next one');
      token = meta.continue;
    }
    throw new StreamError('garbled', `the list has more than ${maxPages} pages`);
  }

  async #readPage(outer: AbortSignal, token: string, maxBytes: number) {
    const { client, path } = this.#options;
    const query = new URLSearchParams({ limit: String(this.#pace.pageSize) });
    if (token !== '') query.set('continue', token);
    const request = new Task(outer);
    const get = { path, query, signal: request.signal };
    const body = await getWithSecondTry(client, get, this.#random);
    const guard = new Task(request.signal);
    void this.#guardProgress(body, request, guard);
    try {
      const reader = new ItemReader(listKind(path));
      let items = 0;
      for await (const { bytes } of body) {
        this.#noteContact();
        for (const item of reader.push(bytes)) {
          // The time of a large one is that of its parsing and of its projection, a turn for each.
          if (this.#turn.isOver) await this.#turn.next();
          items++;
          this.#takeItem(item);
        }
        if (this.#turn.isOver) await this.#turn.next();
        if (body.contentBytes <= maxBytes) continue;
        throw new StreamError('garbled', `the list has more than ${MAX_LIST_BYTES} bytes`);
      }
      return { meta: reader.finish(), items, pageBytes: body.contentBytes };
    } finally {
      guard.abort();
    }
  }

  #takeItem(item: unknown): void {
    if (item instanceof Unread) {
      this.#log.passOver(item);
      return;
    }
    this.#history.note(item as T);
    this.#options.versions?.onObject(versionOf(item as T));
    this.#store.put(item as T);
  }

  /**
   * Ends a list when fewer than MIN_PROGRESS_BYTES of its body arrive within any `listStallMs`, or of its content:
   * the server is silent or almost so, whether a few bytes expand to many or many to none. One that keeps arriving
   * has no limit.
   */
  async #guardProgress(body: ApiBody, request: Task, guard: Task): Promise<void> {
    const windowMs = this.#pace.listStallMs;
    let { receivedBytes, contentBytes } = body;
    while (await guard.pause(windowMs)) {
      const bytes = Math.min(body.receivedBytes - receivedBytes, body.contentBytes - contentBytes);
      if (bytes < MIN_PROGRESS_BYTES) {
        request.abort(new StreamError('idle', `only ${bytes} bytes within ${windowMs} ms`));
        return;
      }
      ({ receivedBytes, contentBytes } = body);
    }
  }

  async #watch(signal: AbortSignal): Promise<number> {
    let reason: RestartReason = 'error';
    try {
      reason = await this.#readWatch(signal);
    } catch (error) {
      reason = restartReason(error);
      throw error;
    } finally {
      this.isConnected = false;
      this.#pauses.noteEnd(reason);
      if (reason !== 'timeout') this.#history.suspect();
    }
    this.restarts[reason]++;
    return this.#pauses.next();
  }

  /**
   * Watches until the server ends the watch, at its timeout (`timeout`) or earlier (`closed`). Rejects with an
   * ApiError when the server refuses, also later, and with a StreamError when the stream breaks.
   */
  async #readWatch(signal: AbortSignal): Promise<'timeout' | 'closed'> {
    const { client, path } = this.#options;
    const { watchSeconds, overdueMs } = this.#pace;
    // Spread out, so that the clients of a restarted server do not reconnect all at the same time.
    const seconds = Math.round(watchSeconds * (1 + this.#random()));
    const startedMs = performance.now();
    await withLimit(signal, seconds * 1_000 + overdueMs, 'not done', async (request) => {
      const query = new URLSearchParams({
        watch: 'true',
        allowWatchBookmarks: 'true',
        timeoutSeconds: String(seconds),
        resourceVersion: this.version,
      });
      const get = { path, query, signal: request.signal, isWatch: true };
      const body = await getWithSecondTry(client, get, this.#random);
      this.isConnected = true;
      this.#noteContact();
      this.#pauses.noteOpen();
      this.#history.noteOpen();
      const guard = new Task(request.signal);
      void this.#guardSilence(body, request, guard);
      try {
        await this.#readEvents(body);
        this.#noteContact();
      } catch (error) {
        // It may have been cut before it broke: the server was there when its last byte came.
        this.#noteContact(Math.max(this.#lastContactMs, body.lastByteMs));
        throw error;
      } finally {
        guard.abort();
      }
    });
    return performance.now() - startedMs >= seconds * 900 ? 'timeout' : 'closed';
  }

  async #readEvents(body: ApiBody): Promise<void> {
    const lines = new LineReader();
    for await (const { bytes, arrivedMs } of body) {
      for (const line of lines.push(bytes)) {
        if (line instanceof Unread) {
          this.#passOver(line);
          continue;
        }
        const event = readEvent<T>(line);
        if (event === undefined) this.reject('a line of the watch', 'it is not an event');
        else this.#apply(event, arrivedMs);
        if (this.#turn.isOver) await this.#turn.next();
      }
      // Of a long line, which is measured as it arrives.
      if (this.#turn.isOver) await this.#turn.next();
    }
    if (lines.pendingBytes > 0) {
      this.reject('a line of the watch', `cut after ${lines.pendingBytes} bytes`);
    }
  }

  /**
   * Detects a dead watch among silent ones. After each `aliveMs` without a byte the server is probed; without
   * an answer the watch is dead. When only this connection is dead (after a load balancer, for example), the
   * server still answers; so after each `silentMs` the probe compares versions. The kernel detects lost peers.
   */
  async #guardSilence(body: ApiBody, request: Task, guard: Task): Promise<void> {
    const { aliveMs, silentMs } = this.#pace;
    let comparedMs = performance.now();
    let pauseMs = aliveMs;
    while (await guard.pause(pauseMs)) {
      const nowMs = performance.now();
      const silentForMs = nowMs - body.lastByteMs;
      pauseMs = silentForMs < aliveMs ? aliveMs - silentForMs : aliveMs;
      if (silentForMs < aliveMs) continue;
      const compares = nowMs - Math.max(body.lastByteMs, comparedMs) >= silentMs;
      if (compares) comparedMs = nowMs;
      const failure = await this.#probe(guard.signal, compares);
      if (failure === undefined || guard.isAborted) continue;
      const silence = `silent for ${Math.round(silentForMs / 1_000)} s`;
      request.abort(new StreamError('idle', `${silence}, and the probe failed: ${failure}`));
    }
  }

  /** Resolves to the failure; undefined when the server answers, even with a refusal. */
  async #probe(signal: AbortSignal, compares: boolean): Promise<string | undefined> {
    try {
      await this.#history.probe(signal, compares);
      return undefined;
    } catch (error) {
      // A refusal proves that the server is alive; a new watch would only add load.
      return error instanceof ApiError && error.status > 0 ? undefined : errorText(error);
    }
  }

  #apply({ type, object }: WatchEvent<T>, arrivedMs: number): void {
    this.#noteContact(arrivedMs);
    const version = versionOf(object);
    if (!this.#history.isNext(version)) {
      if (type !== 'BOOKMARK') this.reject('an event', `version ${version} after ${this.version}`);
      return;
    }
    this.#history.note(object, type === 'DELETED');
    if (type === 'DELETED') this.#store.delete(object);
    else if (type !== 'BOOKMARK') this.#store.put(object);
    this.#advance(version, type !== 'BOOKMARK');
    this.lastEventMs = performance.now();
    if (type === 'BOOKMARK') return;
    this.#options.onEvent?.(performance.now() - arrivedMs, type === 'DELETED' ? undefined : object);
  }

  /** An object that is too large counts as deleted, as in a list. */
  #passOver(line: Unread): void {
    const object = this.#log.passOver(line);
    const version = versionOf(object);
    if (!this.#history.isNext(version)) return;
    if (object.metadata?.name !== undefined) this.#store.delete(object as T);
    this.#advance(version, true);
  }

  #advance(version: string, isChange: boolean): void {
    if (!this.#history.advance(version)) return;
    this.#pauses.noteChange();
    const { versions } = this.#options;
    if (isChange) versions?.onObject(version);
    versions?.onKnown(version);
  }
}

/** The same failure is logged again only after this time. */
const REPEAT_MS = 60_000;
const REJECTED_MS = 10_000;
/** Of what is left out in this time, and only counted at first, so many are named then, the first one beside. */
const MAX_NAMED = 5;
/** Objects that were passed over and logged are remembered up to this number. */
const MAX_LOGGED = 1_000;

/** Counts and logs what happens to one resource, without repeated failures and without a line for each object. */
class ResourceLog {
  rejected = 0;
  passedOver = 0;
  readonly #log: Log;
  readonly #name: string;
  readonly #life = new Task();
  #lastFailure = '';
  #lastFailureMs = 0;
  /** How many were left out since one was logged, for as long as they are only counted. */
  #moreRejected: number | undefined;
  /** The one that was logged, and some of the others, each once. */
  readonly #named = new Set<string>();
  readonly #logged = new Set<string>();

  constructor(log: Log, name: string) {
    this.#log = log;
    this.#name = name;
  }

  info(message: string): void {
    this.#log.info(`${this.#name}: ${message}`);
  }

  /** Logs why a watch or a list is tried again, and when; `isDetail`: no one has to do anything, or it is known. */
  restarting(reason: RestartReason, failure: string, pauseMs: number, isDetail: boolean): void {
    const next = pauseMs === 0 ? 'next try now' : `next try in ${pauseText(pauseMs)}`;
    if (reason === 'gone') this.#detail(`the version is gone, listing again; ${next}`);
    else if (reason === 'denied' && isDetail) this.#detail(`${failure}; ${next}`);
    else if (reason === 'full') this.#error(`${failure}; not ready; ${next}`);
    else this.#failed(failure, next);
  }

  /** An object, or a line of a watch, is not valid. Logs the first one, and later how many more there were, with some of them. */
  reject(what: string, reason: string): void {
    this.rejected++;
    const text = `${what}: ${reason}`;
    if (this.#named.size <= MAX_NAMED) this.#named.add(text);
    if (this.#moreRejected !== undefined) {
      this.#moreRejected++;
      return;
    }
    this.#moreRejected = 0;
    this.#error(`${text}; left out`);
    void this.#life.pause(REJECTED_MS).then((isOver) => isOver && this.#logRejected());
  }

  /** An object was not read; returns what its beginning tells. Each is logged once, also in later lists. */
  passOver({ reason, head }: Unread): ApiObject {
    this.passedOver++;
    const object = readObjectHead(head);
    const { namespace = '', name = 'an object without a readable name' } = object.metadata ?? {};
    const key = namespace === '' ? name : `${namespace}/${name}`;
    const kind = object.kind === undefined ? '' : `${object.kind} `;
    const message = `${kind}${key}: ${reason}; passed over`;
    if (this.#logged.has(message) || this.#logged.size >= MAX_LOGGED) this.#detail(message);
    else this.#error(message);
    if (this.#logged.size < MAX_LOGGED) this.#logged.add(message);
    return object;
  }

  /** Logs the pending count. */
  close(): void {
    this.#life.abort();
    this.#logRejected();
  }

  #logRejected(): void {
    const count = this.#moreRejected ?? 0;
    const [, ...others] = this.#named;
    this.#moreRejected = undefined;
    this.#named.clear();
    const examples = others.length > 0 ? `, such as ${others.join('; ')}` : '';
    if (count > 0) this.#error(`${count} more left out${examples}`);
  }

  /** The same failure is logged at most once a minute, unless `--v` is 3: the manifests have 2, and there are several tries a second. */
  #failed(failure: string, next: string): void {
    const nowMs = performance.now();
    if (failure === this.#lastFailure && nowMs < this.#lastFailureMs + REPEAT_MS) {
      this.#log.verbose(3, `${this.#name}: ${failure}; ${next}`);
      return;
    }
    this.#lastFailure = failure;
    this.#lastFailureMs = nowMs;
    this.#log.warn(`${this.#name}: ${failure}; ${next}`);
  }

  #detail(message: string): void {
    this.#log.verbose(2, `${this.#name}: ${message}`);
  }

  #error(message: string): void {
    this.#log.error(`${this.#name}: ${message}`);
  }
}

/** `50 ms`, and from a second on `1.5 s`. */
function pauseText(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 100) / 10} s`;
}

/** Undefined for what is not an event. Throws an ApiError for an ERROR event. */
export function readEvent<T extends ApiObject>(line: unknown): WatchEvent<T> | undefined {
  const { type, object } = (line ?? {}) as { type?: unknown; object?: unknown };
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
    case 'BOOKMARK':
      return { type, object: object as T };
    case 'ERROR':
      throw statusError(object);
    default:
      return undefined;
  }
}

/** The Status object of an ERROR event. */
function statusError(object: unknown): ApiError {
  const status = (object ?? {}) as {
    code?: unknown;
    message?: unknown;
    details?: { retryAfterSeconds?: unknown };
  };
  const code = typeof status.code === 'number' ? status.code : 0;
  const message =
    typeof status.message === 'string' ? status.message : 'the watch ended with an error';
  return new ApiError(code, message, Number(status.details?.retryAfterSeconds) * 1_000 || 0);
}
