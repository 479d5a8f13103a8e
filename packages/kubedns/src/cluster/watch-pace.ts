/** How patient a list/watch loop is. */
export interface WatchPace {
  /** One page of a list must be there after so long. */
  readonly listLimitMs: number;
  /** A watch is asked to last so long, up to doubled at random (as client-go's reflector does). */
  readonly watchSeconds: number;
  /** A server that has not ended the watch so long after its time is taken for dead. */
  readonly overdueMs: number;
  /** A watch that lasted so long worked; one that ended sooner is followed by a pause. */
  readonly stableMs: number;
  /** The pause after the first failure; further ones double it. */
  readonly firstPauseMs: number;
  /** The pause after a resource was denied: permissions seldom change by themselves. */
  readonly deniedPauseMs: number;
}

export const DEFAULT_PACE: WatchPace = {
  listLimitMs: 30_000,
  watchSeconds: 300,
  overdueMs: 30_000,
  stableMs: 5_000,
  firstPauseMs: 500,
  deniedPauseMs: 60_000,
};
