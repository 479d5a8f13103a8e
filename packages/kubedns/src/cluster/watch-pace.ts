/** How patient a list/watch loop is. */
export interface WatchPace {
  /** Items asked for at once. A list is read as a stream, so its pages are only to spare the server. */
  readonly pageSize: number;
  /** The body of a list must bring something in any such time. */
  readonly listStallMs: number;
  /** A streamed initial list must go on at a good pace in any such time; else pages are asked for. */
  readonly initialStallMs: number;
  /** A watch is asked to last so long, up to doubled at random (as client-go's reflector does). */
  readonly watchSeconds: number;
  /** A server that has not ended the watch so long after its time is taken for dead. */
  readonly overdueMs: number;
  /** After so long without a byte of a watch, the server is asked whether it is still there. */
  readonly silentMs: number;
  /** It has to answer that within so long. */
  readonly probeLimitMs: number;
  /** A watch that got bookmarks all along is dead when it gets nothing for so long. */
  readonly bookmarkLimitMs: number;
  /** A watch that lasted so long worked; one that ended sooner is followed by a pause. */
  readonly stableMs: number;
  /** The pause after the first failure; further ones double it. */
  readonly firstPauseMs: number;
  /** The pause after a resource was denied: permissions seldom change by themselves. */
  readonly deniedPauseMs: number;
}

export const DEFAULT_PACE: WatchPace = {
  // As client-go, which servers are used to. Measured with 60,000 objects: 100 takes twice as long, 2,000
  // two thirds of the time, in the same memory.
  pageSize: 500,
  listStallMs: 20_000,
  initialStallMs: 5_000,
  watchSeconds: 300,
  overdueMs: 30_000,
  // More than the minute between two bookmarks of a real API server, so that it is never asked.
  silentMs: 75_000,
  probeLimitMs: 10_000,
  bookmarkLimitMs: 150_000,
  stableMs: 5_000,
  firstPauseMs: 500,
  deniedPauseMs: 60_000,
};
