import type { Bookmarks } from './watch-hub.js';

/** Source: kube-apiserver --min-request-timeout, which is doubled at random. */
const DEFAULT_TIMEOUT_SECONDS = 1800;
/** The longest delay of a Node timer. */
const MAX_TIMEOUT_SECONDS = 2_147_483;
/** Source: storage/cacher nextBookmarkTime. */
const RARE_LEAD_MS = 2000;

/** What a watch does from time to time, and when. */
export interface WatchTimersOptions {
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
