/** What has to be added to this thread's `performance.now()` for the time that all threads share, in ms. */
export function clockOffsetMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6 - performance.now();
}

/** The seconds that another thread's `performance.now()` shows, by its offset. */
export function clockOf(otherOffsetMs: number): () => number {
  const aheadMs = clockOffsetMs() - otherOffsetMs;
  return () => (performance.now() + aheadMs) / 1_000;
}
