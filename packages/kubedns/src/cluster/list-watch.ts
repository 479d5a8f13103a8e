import { setTimeout as delay } from 'node:timers/promises';
import { errorText, type Log } from '@kube-dns/daemon';
import { ApiError, GarbledStreamError } from '../errors.js';
import type { ApiClient } from './api-client.js';
import { Backoff } from './backoff.js';
import { readJsonLines } from './json-lines.js';
import { DEFAULT_PACE, type WatchPace } from './watch-pace.js';

/** What every object of the API has. */
export interface ApiObject {
  readonly metadata?: {
    readonly namespace?: string;
    readonly name?: string;
    readonly resourceVersion?: string;
  };
}

/** Receives the objects of one resource; `key` is `namespace/name`, or the name alone. */
export interface ObjectSink<T extends ApiObject> {
  /** Takes an object, or throws when it makes no sense of it; the object is then taken for removed. */
  upsert(key: string, object: T): void;
  /** Must not throw. */
  remove(key: string): void;
}

export interface ListWatchOptions<T extends ApiObject> {
  readonly client: ApiClient;
  /** As `/api/v1/services`. */
  readonly path: string;
  readonly sink: ObjectSink<T>;
  readonly log: Log;
  readonly random?: () => number;
  readonly pace?: Partial<WatchPace>;
  /** Called once, after the first complete list. */
  readonly onSynced: () => void;
  /** Called once when the server does not allow or does not know the resource. */
  readonly onDenied?: () => void;
}

interface ListPage<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly T[] | null;
}

interface WatchEvent<T> {
  readonly type: string;
  readonly object: T & { readonly code?: number; readonly message?: string };
}

/** Objects asked for at once: a page is all that is held unprojected. */
const PAGE_SIZE = 200;
const GONE = 410;
const DENIED: ReadonlySet<number> = new Set([403, 404]);

/**
 * Follows one resource of the API for ever: a list in pages, then watches from its version, and a new
 * list when the server no longer has that version. What a new list has in common with what is known
 * reaches the sink as nothing: a relist is a diff.
 */
export class ListWatch<T extends ApiObject> {
  readonly #options: ListWatchOptions<T>;
  readonly #pace: WatchPace;
  readonly #random: () => number;
  readonly #backoff: Backoff;
  readonly #abort = new AbortController();
  /** The version of each object that the sink has. */
  readonly #known = new Map<string, string>();
  #resourceVersion = '';
  #isSynced = false;
  #isDenied = false;
  #running: Promise<void> | undefined;

  constructor(options: ListWatchOptions<T>) {
    this.#options = options;
    this.#pace = { ...DEFAULT_PACE, ...options.pace };
    this.#random = options.random ?? Math.random;
    this.#backoff = new Backoff(this.#random, this.#pace.firstPauseMs);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends the request under way; nothing reaches the sink afterwards. */
  async close(): Promise<void> {
    this.#abort.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#abort.signal.aborted) {
      try {
        if (this.#resourceVersion === '') await this.#list();
        await this.#watch();
      } catch (error) {
        await this.#recover(error);
      }
    }
  }

  async #recover(error: unknown): Promise<void> {
    if (this.#abort.signal.aborted) return;
    const { path, log } = this.#options;
    const isGone = error instanceof ApiError && error.status === GONE;
    // What cannot be read would come again from the same version, and keep all behind it away.
    if (isGone || error instanceof GarbledStreamError) this.#resourceVersion = '';
    const wasDenied = this.#isDenied;
    const pauseMs = this.#backoff.next(this.#leastPauseMs(error));
    const next = `next try in ${Math.round(pauseMs)} ms`;
    if (isGone) log.verbose(2, `${path}: the version is gone, listing again; ${next}`);
    else if (wasDenied && isDenial(error)) log.verbose(2, `${path}: still denied; ${next}`);
    else log.warn(`${path}: ${errorText(error)}; ${next}`);
    await this.#pause(pauseMs);
  }

  #leastPauseMs(error: unknown): number {
    if (!(error instanceof ApiError)) return 0;
    // A resource that was readable once is worth asking for at the usual pace.
    const { onDenied } = this.#options;
    if (onDenied === undefined || this.#isSynced || !isDenial(error)) {
      return error.retryAfterMs;
    }
    if (!this.#isDenied) onDenied();
    this.#isDenied = true;
    return this.#pace.deniedPauseMs;
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#abort.signal, ref: false }).catch(() => {
      /* closed while waiting: the loop ends */
    });
  }

  async #list(): Promise<void> {
    const seen = new Set<string>();
    let version: string;
    let next = '';
    do {
      const page = await this.#getPage(next);
      for (const item of page.items ?? []) {
        const key = this.#upsert(item);
        if (key !== undefined) seen.add(key);
      }
      version = page.metadata?.resourceVersion ?? '';
      next = page.metadata?.continue ?? '';
    } while (next !== '');
    for (const key of this.#known.keys()) {
      if (!seen.has(key)) this.#remove(key);
    }
    this.#resourceVersion = version;
    if (this.#isSynced) return;
    this.#isSynced = true;
    this.#options.log.info(`${this.#options.path}: ${seen.size} objects`);
    this.#options.onSynced();
  }

  #getPage(token: string): Promise<ListPage<T>> {
    const { client, path } = this.#options;
    const query = new URLSearchParams({ limit: String(PAGE_SIZE) });
    if (token !== '') query.set('continue', token);
    return this.#within(this.#pace.listLimitMs, async (signal) => {
      const response = await client.get(path, query, signal);
      const chunks: Buffer[] = [];
      for await (const chunk of response.body) chunks.push(chunk);
      return JSON.parse(Buffer.concat(chunks).toString('utf8')) as ListPage<T>;
    });
  }

  async #watch(): Promise<void> {
    const { client, path } = this.#options;
    const { watchSeconds, overdueMs, stableMs } = this.#pace;
    // Spread out, so that the clients of a restarted server do not come back all at once.
    const seconds = Math.round(watchSeconds * (1 + this.#random()));
    const query = new URLSearchParams({
      watch: 'true',
      resourceVersion: this.#resourceVersion,
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(seconds),
    });
    const startedMs = performance.now();
    const isStable = () => performance.now() - startedMs >= stableMs;
    try {
      await this.#within(seconds * 1000 + overdueMs, async (signal) => {
        const response = await client.get(path, query, signal);
        for await (const event of readJsonLines(response.body)) {
          this.#apply(event as WatchEvent<T>);
        }
      });
    } finally {
      // Not any event is a success: a server may tell one and break down, again and again.
      if (isStable()) this.#backoff.reset();
    }
    // A server that ends every watch at once must not be asked in a tight loop.
    if (!isStable()) await this.#pause(this.#backoff.next());
  }

  /** Gives a request a limit, besides `close`; what exceeds it fails with a message that says so. */
  async #within<R>(limitMs: number, request: (signal: AbortSignal) => Promise<R>): Promise<R> {
    const limit = AbortSignal.timeout(limitMs);
    try {
      return await request(AbortSignal.any([this.#abort.signal, limit]));
    } catch (cause) {
      if (!limit.aborted) throw cause;
      throw new ApiError(0, `not done within ${limitMs} ms`, 0, { cause });
    }
  }

  #apply({ type, object }: WatchEvent<T>): void {
    switch (type) {
      case 'ADDED':
      case 'MODIFIED':
        this.#upsert(object);
        break;
      case 'DELETED':
        this.#remove(keyOf(object));
        break;
      case 'ERROR':
        throw new ApiError(object.code ?? 0, object.message ?? 'the watch ended with an error');
      default:
        // A bookmark brings nothing but its version.
        break;
    }
    this.#resourceVersion = object.metadata?.resourceVersion ?? this.#resourceVersion;
  }

  /** Hands a new version on; returns the object's key, unless it is so broken that it has none. */
  #upsert(object: T): string | undefined {
    let key: string | undefined;
    try {
      key = keyOf(object);
      const version = object.metadata?.resourceVersion ?? '';
      if (version !== '' && this.#known.get(key) === version) return key;
      this.#known.set(key, version);
      this.#options.sink.upsert(key, object);
    } catch (error) {
      // One object that cannot be read must not keep the others away.
      const { path, log } = this.#options;
      log.error(`${path}: ${key ?? 'an object'}: ${errorText(error)}; left out`);
      if (key !== undefined) this.#remove(key);
    }
    return key;
  }

  #remove(key: string): void {
    if (this.#known.delete(key)) this.#options.sink.remove(key);
  }
}

function isDenial(error: unknown): boolean {
  return error instanceof ApiError && DENIED.has(error.status);
}

function keyOf(object: ApiObject): string {
  const { namespace, name = '' } = object.metadata ?? {};
  return namespace === undefined ? name : `${namespace}/${name}`;
}
