import { errorText } from '@kube-dns/daemon';
import { ApiError, StreamError } from '../errors.js';
import type { WatchPace } from './watch-pace.js';

export interface SilenceGuardOptions {
  readonly pace: Pick<WatchPace, 'silentMs' | 'probeLimitMs' | 'bookmarkLimitMs'>;
  /** When the watch brought something last, by `performance.now()`. */
  readonly lastByteMs: () => number;
  /** Asks the server for something small; rejects when there is no answer. */
  readonly probe: (signal: AbortSignal) => Promise<unknown>;
  /** The server answered a probe. */
  readonly onAnswer: () => void;
  /** The connection is to be given up. Called once at most. */
  readonly onDead: (error: StreamError) => void;
}

/**
 * Finds out whether a silent watch is a quiet one or a dead one. After `silentMs` the server is asked
 * for something small, again and again: no answer, and the watch is dead. A server that answers while
 * this one connection is dead (behind a balancer, say) is noticed only by its bookmarks: where two came
 * in this watch, `bookmarkLimitMs` without anything is the end. Peers that are gone the kernel notices.
 */
export class SilenceGuard {
  readonly #options: SilenceGuardOptions;
  readonly #abort = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #bookmarks = 0;
  #lastBookmarkMs = 0;
  #bookmarkGapMs = 0;

  constructor(options: SilenceGuardOptions) {
    this.#options = options;
    this.#wait(options.pace.silentMs);
  }

  /** Called for each bookmark that comes. */
  noteBookmark(): void {
    const nowMs = performance.now();
    if (this.#bookmarks++ > 0) {
      this.#bookmarkGapMs = Math.max(this.#bookmarkGapMs, nowMs - this.#lastBookmarkMs);
    }
    this.#lastBookmarkMs = nowMs;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#abort.abort();
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => void this.#look(), Math.max(ms, 1));
  }

  async #look(): Promise<void> {
    const { pace, lastByteMs, onDead } = this.#options;
    const silentForMs = performance.now() - lastByteMs();
    if (silentForMs < pace.silentMs) {
      this.#wait(pace.silentMs - silentForMs);
      return;
    }
    const silence = `silent for ${Math.round(silentForMs / 1_000)} s`;
    if (this.#bookmarks > 1 && silentForMs > this.#bookmarkLimitMs) {
      onDead(new StreamError('idle', `${silence}, without the bookmarks that came before`));
      return;
    }
    const failure = await this.#ask();
    if (this.#abort.signal.aborted) return;
    if (failure === undefined) this.#wait(pace.silentMs);
    else onDead(new StreamError('idle', `${silence}, and when asked: ${failure}`));
  }

  /** A server with a rhythm of its own is given three of its beats. */
  get #bookmarkLimitMs(): number {
    return Math.max(this.#options.pace.bookmarkLimitMs, 3 * this.#bookmarkGapMs);
  }

  /** Resolves to what is wrong; undefined where there is an answer, even one that refuses. */
  async #ask(): Promise<string | undefined> {
    const { pace, probe, onAnswer } = this.#options;
    const limit = new AbortController();
    const timer = setTimeout(() => {
      limit.abort(new StreamError('idle', `no answer within ${pace.probeLimitMs} ms`));
    }, pace.probeLimitMs);
    try {
      await probe(AbortSignal.any([this.#abort.signal, limit.signal]));
      onAnswer();
      return undefined;
    } catch (error) {
      // Whoever refuses is there; and one that has too much to do must not get new watches besides.
      if (error instanceof ApiError && error.status > 0) return undefined;
      return errorText(error);
    } finally {
      clearTimeout(timer);
    }
  }
}
