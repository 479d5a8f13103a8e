/** Limits and pauses of a list/watch loop. */
export interface WatchPace {
  /** Items per page. A list is read as a stream; pages only reduce the load of the server. */
  readonly pageSize: number;
  /** A list is aborted when it makes no progress for this long. */
  readonly listStallMs: number;
  /** After this long without contact a list follows, not a watch from the last version. */
  readonly relistAwayMs: number;
  /** The requested duration of a watch, up to doubled at random (as client-go's reflector does). */
  readonly watchSeconds: number;
  /** A server that has not ended the watch this long after its duration counts as dead. */
  readonly overdueMs: number;
  /** After this long without a byte of a watch, the server is probed. */
  readonly silentMs: number;
  /** The time limit of a probe. */
  readonly probeLimitMs: number;
  /** Requested checks of the server's history are at least that far apart; without an answer this doubles. */
  readonly recheckMs: number;
  /** A watch that lasts this long has worked; no more than one success in this time is counted. */
  readonly stableMs: number;
  /** The pause after the first failed try; further ones double it. */
  readonly firstPauseMs: number;
  /** The pause after a resource was denied, or exceeded a limit: that changes seldom. */
  readonly deniedPauseMs: number;
}

export const DEFAULT_PACE: WatchPace = {
  // Some 15 MB of slices, 1 MB compressed. Ten times client-go's: with 60,000 objects that is a fifth less CPU time
  // here and in the server, in the same memory, and far fewer times in which both wait.
  pageSize: 5_000,
  listStallMs: 20_000,
  // Enough for a cluster to be restored from a recent backup, and to write as much as was lost.
  relistAwayMs: 15_000,
  watchSeconds: 300,
  overdueMs: 30_000,
  // A quiet watch has bookmarks once a minute at most, so it is probed. That also shows, within 90 s, a
  // restored cluster that ended no watch.
  silentMs: 30_000,
  probeLimitMs: 10_000,
  recheckMs: 2_000,
  stableMs: 500,
  firstPauseMs: 50,
  deniedPauseMs: 60_000,
};
