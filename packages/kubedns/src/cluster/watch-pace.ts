/** Limits and pauses of a list/watch loop. */
export interface WatchPace {
  /** Items per page. A list is read as a stream; pages only reduce the load of the server. */
  readonly pageSize: number;
  /** A list is aborted when it makes no progress for this long. */
  readonly listStallMs: number;
  /** A streamed initial list that makes little progress within this time is replaced by pages. */
  readonly initialStallMs: number;
  /** The requested duration of a watch, up to doubled at random (as client-go's reflector does). */
  readonly watchSeconds: number;
  /** A server that has not ended the watch this long after its duration counts as dead. */
  readonly overdueMs: number;
  /** After this long without a byte of a watch, the server is probed. */
  readonly silentMs: number;
  /** The time limit of a probe. */
  readonly probeLimitMs: number;
  /** A watch with regular bookmarks is dead when nothing arrives for this long. */
  readonly bookmarkLimitMs: number;
  /** A watch that lasts this long has worked; no more than one success in this time is counted. */
  readonly stableMs: number;
  /** The pause after the first failed try; further ones double it. */
  readonly firstPauseMs: number;
  /** The pause after a resource was denied, or exceeded a limit: that changes seldom. */
  readonly deniedPauseMs: number;
}

export const DEFAULT_PACE: WatchPace = {
  // As client-go. Measured with 60,000 objects: 100 takes twice as long, 2,000
  // two thirds of the time, in the same memory.
  pageSize: 500,
  listStallMs: 20_000,
  initialStallMs: 5_000,
  watchSeconds: 300,
  overdueMs: 30_000,
  // More than the minute between two bookmarks of a real API server, so that it is not probed.
  silentMs: 75_000,
  probeLimitMs: 10_000,
  bookmarkLimitMs: 150_000,
  stableMs: 500,
  firstPauseMs: 50,
  deniedPauseMs: 60_000,
};
