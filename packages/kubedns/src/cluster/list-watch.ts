import { errorText } from '@kube-dns/base';
import { StreamError } from '../errors.js';
import { History } from './history.js';
import { Unread } from './json-text.js';
import { LeftOut } from './left-out.js';
import { readList } from './list.js';
import type { ListWatchOptions } from './list-watch-options.js';
import { LoopTurn } from './loop-turn.js';
import { type ApiObject, type Projection, ObjectStore, versionOf } from './object-store.js';
import { needsList, restartReason } from './restart-reason.js';
import { RetryPauses } from './retry-pauses.js';
import { ServerContact } from './server-contact.js';
import { DEFAULT_STORE_LIMITS } from './store-limits.js';
import { TryLoop } from './try-loop.js';
import { watchOnce, type WatchEvent, type WatchOptions } from './watch.js';
import { WatchLog } from './watch-log.js';
import { DEFAULT_PACE } from './watch-pace.js';
import { noRestarts, type ResourceStatistics, type RestartReason } from './watch-statistics.js';

/**
 * Follows one resource of the API for ever: a list, then watches from its version, and a new list when the
 * server no longer has that version. It stores projections of the objects; of a new list only changes reach
 * the sink. The objects stay while the server is away.
 */
export class ListWatch<T extends ApiObject, K extends Projection> implements ResourceStatistics {
  readonly resource: string;
  isSynced = false;
  isDenied = false;
  lastFailure = '';
  lastEventMs = 0;
  relists = 0;
  excess = '';
  readonly restarts = noRestarts();
  readonly #options: ListWatchOptions<T, K>;
  readonly #requests: Pick<WatchOptions<T>, 'client' | 'path' | 'pace' | 'random' | 'turn'>;
  readonly #log: WatchLog;
  readonly #leftOut: LeftOut;
  readonly #pauses: RetryPauses;
  readonly #history: History;
  readonly #contact = new ServerContact();
  readonly #store: ObjectStore<T, K>;
  readonly #loop = new TryLoop({
    attempt: (signal) => this.#attempt(signal),
    onFailure: (error) => this.#recover(error),
  });
  readonly #turn = new LoopTurn();
  #failures = 0;
  #denialsInARow = 0;
  /** The cluster has another history, so that all is listed again. */
  #isRestored = false;

  constructor(options: ListWatchOptions<T, K>) {
    this.#options = options;
    this.resource = options.path.slice(options.path.lastIndexOf('/') + 1);
    const { client, path, random = Math.random } = options;
    const pace = { ...DEFAULT_PACE, ...options.pace };
    this.#requests = { client, path, pace, random, turn: this.#turn };
    this.#log = new WatchLog(options.log, options.path);
    this.#pauses = new RetryPauses({ pace, random });
    this.#history = new History({
      ...this.#requests,
      landmark: options.landmark,
      onAnswer: () => this.#contact.note(),
      onRestored: (error) => this.#loop.interrupt(error),
    });
    this.#leftOut = new LeftOut(this.#log);
    this.#store = new ObjectStore(options.sink, (...of) => this.reject(...of), options.limits);
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

  get version(): string {
    return this.#history.version;
  }

  get isOverLimit(): boolean {
    return this.excess !== '';
  }

  get isConnected(): boolean {
    return this.#contact.isConnected;
  }

  get isWatched(): boolean {
    return this.#loop.isStarted;
  }

  /** Milliseconds since the last contact with the server; 0 while a watch is open, denied or stopped. */
  get noContactMs(): number {
    return this.isDenied || !this.isWatched ? 0 : this.#contact.awayMs;
  }

  /** Starts, or continues after `stop`. */
  start(): void {
    if (this.isWatched) return;
    this.#contact.note();
    this.#loop.start();
  }

  /** Ends the request in flight; nothing reaches the sink afterwards. Stored objects stay. */
  async stop(): Promise<void> {
    this.#history.cancel();
    await this.#loop.stop();
  }

  /** Stops for ever. */
  async close(): Promise<void> {
    this.#history.cancel();
    await this.#loop.close();
    this.#log.close();
  }

  /** Drops all stored objects and notifies the sink. A list in progress begins again; no watch may be open. */
  async forget(): Promise<void> {
    this.isSynced = false;
    this.#history.forget();
    await this.#store.forget(new LoopTurn());
  }

  /** Lists again, as another resource showed that the cluster was restored; the objects stay until then. */
  relist(reason: string): void {
    if (this.#isRestored) return;
    this.#isRestored = true;
    this.#loop.interrupt(new StreamError('restored', reason));
  }

  /** Counts and logs an object or a line that was left out. */
  reject(what: string, reason: string): void {
    this.#leftOut.reject(what, reason);
  }

  /** Lists or watches. Resolves to the pause that follows, in ms. */
  async #attempt(signal: AbortSignal): Promise<number> {
    if (this.#isRestored) {
      this.#isRestored = false;
      this.restarts.restored++;
      this.#history.forget();
      this.#store.forgetVersions();
    }
    // A restored cluster may have overtaken the version by now, which then shows nothing.
    if (this.version !== '' && this.#contact.awayMs > this.#requests.pace.relistAwayMs)
      this.#loseHistory();
    try {
      return await (this.version === '' ? this.#list(signal) : this.#watch(signal));
    } catch (error) {
      this.#contact.disconnect(restartReason(error) !== 'idle');
      throw error;
    }
  }

  async #list(signal: AbortSignal): Promise<number> {
    const number = this.#store.beginList();
    const version = await readList({
      ...this.#requests,
      signal,
      maxObjects: (this.#options.limits ?? DEFAULT_STORE_LIMITS).maxObjects,
      onItem: (item) => {
        if (item instanceof Unread) return void this.#leftOut.passOver(item);
        this.#history.note(item as T);
        this.#store.put(item as T);
      },
      onProgress: () => this.#contact.note(),
    });
    this.#history.noteList(version);
    if (!(await this.#store.endList(number, this.#turn))) {
      throw new StreamError('closed', 'the objects were dropped during the list');
    }
    this.#history.begin(version);
    this.lastEventMs = performance.now();
    this.#failures = this.#denialsInARow = 0;
    this.excess = '';
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

  async #watch(signal: AbortSignal): Promise<number> {
    let ended: RestartReason | undefined;
    try {
      ended = await watchOnce<T>({
        ...this.#requests,
        signal,
        version: this.version,
        onOpen: () => this.#connect(),
        onEvent: (event, arrivedMs) => this.#apply(event, arrivedMs),
        onUnread: (line) => this.#passOver(line),
        onRejected: (reason) => this.reject('a line of the watch', reason),
        probe: (probing) => this.#history.probe(probing),
      });
    } catch (error) {
      ended = restartReason(error);
      throw error;
    } finally {
      this.#pauses.noteEnd(ended);
      if (ended !== 'timeout') this.#history.doubt();
    }
    this.#contact.disconnect(true);
    this.restarts[ended]++;
    return this.#pauses.next();
  }

  #connect(): void {
    this.#contact.connect();
    this.#pauses.noteOpen();
    this.#history.noteOpen();
  }

  #apply({ type, object }: WatchEvent<T>, arrivedMs: number): void {
    this.#contact.note(arrivedMs);
    const version = versionOf(object);
    if (!this.#history.isNext(version)) {
      if (type !== 'BOOKMARK') this.reject('an event', `version ${version} after ${this.version}`);
      return;
    }
    this.#history.note(object, type === 'DELETED');
    if (type === 'DELETED') this.#store.delete(object);
    else if (type !== 'BOOKMARK') this.#store.put(object);
    this.#advance(version);
    this.lastEventMs = performance.now();
    if (type !== 'BOOKMARK') this.#options.onEvent?.(performance.now() - arrivedMs);
  }

  /** An object that is too large counts as deleted, as in a list. */
  #passOver(line: Unread): void {
    const { object } = this.#leftOut.passOver(line);
    const version = versionOf(object);
    if (!this.#history.isNext(version)) return;
    if (object.metadata?.name !== undefined) this.#store.delete(object as T);
    this.#advance(version);
  }

  #advance(version: string): void {
    if (this.#history.advance(version)) this.#pauses.noteChange();
  }

  /** Returns the pause before the next try, in ms. */
  #recover(error: unknown): number {
    const reason = restartReason(error);
    if (reason === 'garbled') this.#leftOut.rejected++;
    const failure = (this.lastFailure = errorText(error));
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
    this.#log.restarting(reason, failure, pauseMs, wasDenied);
    return pauseMs;
  }

  /** The version may be of another history, in which other objects may have the same versions: a list follows. */
  #loseHistory(): void {
    this.#history.lose();
    this.#store.forgetVersions();
  }

  #deny(): void {
    const { onDenied } = this.#options;
    // A server may refuse once by mistake, while its roles are not loaded yet.
    if (onDenied === undefined || this.isDenied || (++this.#denialsInARow < 2 && this.isSynced))
      return;
    this.isDenied = true;
    this.excess = '';
    onDenied();
  }
}
