import { setTimeout as delay } from 'node:timers/promises';
import { errorText, type Log } from '@kube-dns/daemon';
import { StreamError } from '../errors.js';
import type { ApiReader } from './api-client.js';
import { InitialEvents } from './initial-events.js';
import { readList } from './list.js';
import { LoopTurn } from './loop-turn.js';
import { type ApiObject, type Projection, type ObjectSink, ObjectStore } from './object-store.js';
import { restartReason } from './restart-reason.js';
import { RetryPauses } from './retry-pauses.js';
import { watchOnce, type WatchEvent } from './watch.js';
import { WatchLog } from './watch-log.js';
import { DEFAULT_PACE, type WatchPace } from './watch-pace.js';
import { noRestarts, type ResourceStatistics } from './watch-statistics.js';

export type { ApiObject, Projection, ObjectSink } from './object-store.js';

export interface ListWatchOptions<T extends ApiObject, K extends Projection> {
  readonly client: ApiReader;
  /** As `/api/v1/services`. */
  readonly path: string;
  readonly sink: ObjectSink<T, K>;
  readonly log: Log;
  readonly random?: () => number;
  readonly pace?: Partial<WatchPace>;
  /** Called after the first complete list, and after the first one that follows `onDenied` or `forget`. */
  readonly onSynced: () => void;
  /**
   * Called when the server forbids or does not have the resource: at the first time, or at the second in a
   * row after a complete list. Called again only after `onSynced`.
   */
  readonly onDenied?: () => void;
  /** Called after each failure with the number of failures since the last complete list. */
  readonly onFailure?: (inARow: number) => void;
  /** Called after a change of a watch was applied, with the ms since its bytes arrived. */
  readonly onEvent?: (latencyMs: number) => void;
}

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
  rejected = 0;
  readonly restarts = noRestarts();
  readonly #options: ListWatchOptions<T, K>;
  readonly #pace: WatchPace;
  readonly #random: () => number;
  readonly #log: WatchLog;
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
    this.#store = new ObjectStore(options.sink, (what, reason) => this.reject(what, reason));
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
    this.rejected++;
    this.#log.rejected(what, reason);
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
      onItem: (item) => this.#store.put(item as T),
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

  #advance(version: string): void {
    if (version !== this.#version) this.#pauses.noteChange();
    this.#version = version;
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const reason = restartReason(error);
    if (reason === 'garbled') this.rejected++;
    // When only the initial events fail, pages follow immediately.
    const failure = errorText(error);
    if (this.#version === '' && this.#initialEvents.isWorthTrying && reason !== 'denied') {
      if (this.#initialEvents.noteFailure(error)) {
        this.#log.detail(`no initial events (${failure}); listing in pages`);
        return;
      }
    }
    this.restarts[reason]++;
    // A watch from the same version would send the same unreadable event again, and nothing after it.
    if (reason === 'gone' || reason === 'garbled') this.#version = '';
    this.#options.onFailure?.(++this.#failures);
    const wasDenied = this.#isDenied;
    if (reason === 'denied') this.#deny();
    else this.#denialsInARow = 0;
    const isPermanent = this.#isDenied && reason === 'denied';
    const pauseMs = Math.max(this.#pauses.next(error), isPermanent ? this.#pace.deniedPauseMs : 0);
    const next = pauseMs === 0 ? 'next try now' : `next try in ${Math.round(pauseMs)} ms`;
    if (reason === 'gone') this.#log.detail(`the version is gone, listing again; ${next}`);
    else if (isPermanent && wasDenied) this.#log.detail(`still denied; ${next}`);
    else this.#log.failed(failure, next);
    await this.#pause(pauseMs, signal);
  }

  #deny(): void {
    const { onDenied } = this.#options;
    // A server may refuse once by mistake, while its roles are not loaded yet.
    if (onDenied === undefined || this.#isDenied || (++this.#denialsInARow < 2 && this.#isSynced))
      return;
    this.#isDenied = true;
    onDenied();
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    if (ms === 0) return;
    await delay(ms, undefined, { signal, ref: false }).catch(() => {
      /* stopped while waiting: the loop ends */
    });
  }
}
