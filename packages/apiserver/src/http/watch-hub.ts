import type { WatchStream } from './watch-stream.js';

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

/** The options that all watches share. */
export interface WatchHubOptions {
  /** Events that may wait for one slow client. */
  readonly queueLimit: number;
  /** Bytes that may wait for one slow client. */
  readonly queueBytes: number;
  readonly bookmarkIntervalMs: number;
}

/** All open watches, which can be ended or silenced together. */
export class WatchHub {
  readonly queueLimit: number;
  readonly queueBytes: number;
  readonly bookmarkIntervalMs: number;
  bookmarks: Bookmarks = 'usual';
  readonly #streams = new Map<WatchStream, string>();
  #isSilent = false;

  constructor(options: WatchHubOptions) {
    this.queueLimit = options.queueLimit;
    this.queueBytes = options.queueBytes;
    this.bookmarkIntervalMs = options.bookmarkIntervalMs;
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

  /** Breaks the connection of every watch. */
  dropAll(): void {
    for (const stream of this.#streams.keys()) stream.destroy();
  }

  /** Makes every open and future watch hold its events back, or ends that. */
  setSilent(isSilent: boolean): void {
    this.#isSilent = isSilent;
    for (const stream of this.#streams.keys()) stream.setSilent(isSilent);
  }
}
