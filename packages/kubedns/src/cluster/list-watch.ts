import { setTimeout as delay } from 'node:timers/promises';
import { errorText } from '@kube-dns/daemon';
import { StreamError } from '../errors.js';
import { InitialEvents } from './initial-events.js';
import { Unread } from './json-text.js';
import { LeftOut } from './left-out.js';
import { readList } from './list.js';
import type { ListWatchOptions } from './list-watch-options.js';
import { LoopTurn } from './loop-turn.js';
import { type ApiObject, type Projection, ObjectStore } from './object-store.js';
import { restartReason } from './restart-reason.js';
import { RetryPauses } from './retry-pauses.js';
import { DEFAULT_STORE_LIMITS, type StoreLimits } from './store-limits.js';
import { watchOnce, type WatchEvent } from './watch.js';
import { WatchLog } from './watch-log.js';
import { DEFAULT_PACE, type WatchPace } from './watch-pace.js';
import { noRestarts, type ResourceStatistics, type RestartReason } from './watch-statistics.js';

/** Reasons after which a watch from the same version would not help. */
const NEEDS_LIST: ReadonlySet<RestartReason> = new Set(['gone', 'garbled', 'full']);

/**
 * Follows one resource of the API for ever: a list, then watches from its version, and a new list when the
 * server no longer has that version. It stores projections of the objects; of a new list only changes reach
 * the sink. The objects stay while the server is away.
 */
export class ListWatch<T extends ApiObject, K extends Projection> implements ResourceStatistics {
  readonly resource: string;
  isConnected = false;
  lastEventMs = 0;
  relists = 0;
  isOverLimit = false;
  readonly restarts = noRestarts();
  readonly #options: ListWatchOptions<T, K>;
  readonly #pace: WatchPace;
  readonly #random: () => number;
  readonly #log: WatchLog;
  readonly #leftOut: LeftOut;
  readonly #limits: StoreLimits;
  readonly #pauses: RetryPauses;
  readonly #store: ObjectStore<T, K>;
  readonly #initialEvents = new InitialEvents();
  readonly #turn = new LoopTurn();
  #abort: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();
  #isClosed = false;
  /** The version to continue from; empty: a list is needed. */
  #version = '';
  #isSynced = false;
  #isDenied = false;
  #failures = 0;
  #denialsInARow = 0;
  #lastContactMs = performance.now();

  constructor(options: ListWatchOptions<T, K>) {
    this.#options = options;
    this.resource = options.path.slice(options.path.lastIndexOf('/') + 1);
    this.#pace = { ...DEFAULT_PACE, ...options.pace };
    this.#random = options.random ?? Math.random;
    this.#log = new WatchLog(options.log, options.path);
    this.#pauses = new RetryPauses({ pace: this.#pace, random: this.#random });
    this.#leftOut = new LeftOut(this.#log);
    this.#limits = options.limits ?? DEFAULT_STORE_LIMITS;
    this.#store = new ObjectStore(options.sink, (...of) => this.reject(...of), this.#limits);
  }

  get rejected(): number {
    return this.#leftOut.rejected;
  }

  get passedOver(): number {
    return this.#leftOut.passedOver;
  }

  get objects(): number {
    return this.#store.size;
  }

  /** Whether the server forbade or did not have the resource at the last try. */
  get isDenied(): boolean {
    return this.#isDenied;
  }

  /** Milliseconds since the last contact with the server; 0 while a watch is open, denied or stopped. */
  get noContactMs(): number {
    if (this.isConnected || this.#isDenied || this.#abort === undefined) return 0;
    return performance.now() - this.#lastContactMs;
  }

  /** Starts, or continues after `stop`. */
  start(): void {
    if (this.#isClosed || this.#abort !== undefined) return;
    this.#abort = new AbortController();
    this.#lastContactMs = performance.now();
    const { signal } = this.#abort;
    this.#running = this.#running.then(() => this.#run(signal));
  }

  /** Ends the request in flight; nothing reaches the sink afterwards. Stored objects stay. */
  async stop(): Promise<void> {
    this.#abort?.abort(new Error('stopped'));
    this.#abort = undefined;
    await this.#running;
  }

  /** Stops for ever. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.stop();
    this.#log.close();
  }

  /** Drops all stored objects and notifies the sink. A list in progress begins again; no watch may be open. */
  async forget(): Promise<void> {
    this.#version = '';
    this.#isSynced = false;
    await this.#store.forget(new LoopTurn());
  }

  /** Drops all stored objects, and lists again. */
  async startAnew(): Promise<void> {
    await this.stop();
    await this.forget();
    this.start();
  }

  /** Counts and logs an object or a line that was left out. */
  reject(what: string, reason: string): void {
    this.#leftOut.reject(what, reason);
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#version === '' && !this.#initialEvents.isWorthTrying) await this.#list(signal);
        else await this.#watch(signal);
      } catch (error) {
        this.#disconnect(restartReason(error) !== 'idle');
        await this.#recover(error, signal);
      }
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, path } = this.#options;
    const number = this.#store.beginList();
    const version = await readList({
      client,
      path,
      pace: this.#pace,
      signal,
      turn: this.#turn,
      maxPages: this.#limits.maxObjects,
      onItem: (item) => {
        if (item instanceof Unread) this.#leftOut.passOver(item);
        else this.#store.put(item as T);
      },
      onProgress: () => (this.#lastContactMs = performance.now()),
    });
    this.#initialEvents.notePages();
    await this.#endList(number, version);
  }

  async #endList(number: number, version: string): Promise<void> {
    if (!(await this.#store.endList(number, this.#turn))) {
      throw new StreamError('closed', 'the objects were dropped during the list');
    }
    this.#version = version;
    this.lastEventMs = performance.now();
    this.#failures = this.#denialsInARow = 0;
    this.isOverLimit = false;
    if (this.#isSynced) this.relists++;
    if (this.#isSynced && !this.#isDenied) return;
    this.#isSynced = true;
    this.#isDenied = false;
    this.#log.info(`${this.#store.size} objects`);
    this.#options.onSynced();
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { client, path } = this.#options;
    const version = this.#version;
    const number = version === '' ? this.#store.beginList() : 0;
    let ended: 'timeout' | 'closed';
    try {
      ended = await watchOnce<T>({
        client,
        path,
        pace: this.#pace,
        random: this.#random,
        signal,
        turn: this.#turn,
        version,
        onOpen: () => this.#connect(),
        onEvent: (event, arrivedMs) => this.#apply(event, arrivedMs, number),
        onUnread: (line) => this.#passOver(line),
        onRejected: (reason) => this.reject('a line of the watch', reason),
        onAnswer: () => (this.#lastContactMs = performance.now()),
      });
    } finally {
      this.#pauses.noteEnd();
    }
    this.#disconnect(true);
    if (this.#version === '') throw new StreamError('closed', 'the initial events were incomplete');
    this.restarts[ended]++;
    await this.#pause(this.#pauses.next(), signal);
  }

  #connect(): void {
    this.isConnected = true;
    this.#lastContactMs = performance.now();
    if (this.#version !== '') this.#pauses.noteOpen();
  }

  /** `hasContact`: the server ended the watch itself, so it is alive now. */
  #disconnect(hasContact: boolean): void {
    if (this.isConnected && hasContact) this.#lastContactMs = performance.now();
    this.isConnected = false;
  }

  async #apply(event: WatchEvent<T>, arrivedMs: number, listNumber: number): Promise<void> {
    const { type, object, isInitialEnd } = event;
    this.#lastContactMs = arrivedMs;
    if (type === 'DELETED') this.#store.delete(object);
    else if (type !== 'BOOKMARK') this.#store.put(object);
    const version: unknown = (object as ApiObject | null | undefined)?.metadata?.resourceVersion;
    if (this.#version === '') {
      // Initial events are not ordered by version: only the final bookmark has a version to continue from.
      if (!isInitialEnd || typeof version !== 'string' || version === '') return;
      this.#pauses.noteOpen();
      this.#initialEvents.noteEnd();
      await this.#endList(listNumber, version);
      return;
    }
    if (typeof version === 'string' && version !== '') this.#advance(version);
    this.lastEventMs = performance.now();
    if (type !== 'BOOKMARK') this.#options.onEvent?.(performance.now() - arrivedMs);
  }

  /** An object that is too large counts as deleted, as in a list. */
  #passOver(line: Unread): void {
    const { object } = this.#leftOut.passOver(line);
    const { name, resourceVersion = '' } = object.metadata ?? {};
    if (name !== undefined) this.#store.delete(object as T);
    if (resourceVersion !== '' && this.#version !== '') this.#advance(resourceVersion);
  }

  #advance(version: string): void {
    if (version !== this.#version) this.#pauses.noteChange();
    this.#version = version;
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const reason = restartReason(error);
    if (reason === 'garbled') this.#leftOut.rejected++;
    const failure = errorText(error);
    // When only the initial events fail, pages follow immediately.
    const isFinal = reason === 'denied' || reason === 'full';
    const isInitial = this.#version === '' && this.#initialEvents.isWorthTrying && !isFinal;
    if (isInitial && this.#initialEvents.noteFailure(error)) {
      this.#log.detail(`no initial events (${failure}); listing in pages`);
      return;
    }
    this.restarts[reason]++;
    // A watch from the same version would send the same unreadable event again, and nothing after it.
    if (NEEDS_LIST.has(reason)) this.#version = '';
    if (reason === 'full') this.isOverLimit = true;
    this.#options.onFailure?.(++this.#failures);
    const wasDenied = this.#isDenied;
    if (reason === 'denied') this.#deny();
    else this.#denialsInARow = 0;
    const isPermanent = this.#isDenied && reason === 'denied';
    const isLasting = isPermanent || reason === 'full';
    const pauseMs = Math.max(this.#pauses.next(error), isLasting ? this.#pace.deniedPauseMs : 0);
    const next = pauseMs === 0 ? 'next try now' : `next try in ${Math.round(pauseMs)} ms`;
    if (reason === 'gone') this.#log.detail(`the version is gone, listing again; ${next}`);
    else if (isPermanent && wasDenied) this.#log.detail(`still denied; ${next}`);
    else if (reason === 'full') this.#log.error(`${failure}; not ready; ${next}`);
    else this.#log.failed(failure, next);
    await this.#pause(pauseMs, signal);
  }

  #deny(): void {
    const { onDenied } = this.#options;
    // A server may refuse once by mistake, while its roles are not loaded yet.
    if (onDenied === undefined || this.#isDenied || (++this.#denialsInARow < 2 && this.#isSynced))
      return;
    this.#isDenied = true;
    this.isOverLimit = false;
    onDenied();
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    if (ms === 0) return;
    await delay(ms, undefined, { signal, ref: false }).catch(() => {
      /* stopped while waiting: the loop ends */
    });
  }
}
