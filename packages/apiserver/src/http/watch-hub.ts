import type { WatchStream } from './watch-stream.js';

/** The options that all watches share. */
export interface WatchHubOptions {
  /** Events that may wait for one slow client. */
  readonly queueLimit: number;
  readonly bookmarkIntervalMs: number;
}

/** All open watches, which can be ended or silenced together. */
export class WatchHub {
  readonly queueLimit: number;
  readonly bookmarkIntervalMs: number;
  readonly #streams = new Map<WatchStream, string>();
  #isSilent = false;

  constructor(options: WatchHubOptions) {
    this.queueLimit = options.queueLimit;
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
