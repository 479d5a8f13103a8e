/** A thread that loses its core between two clocks reads them too far apart; one of these does not. */
const SAMPLES = 5;

/** What has to be added to this thread's `performance.now()` for the time that all threads share, in ms. */
export function clockOffsetMs(): number {
  let offsetMs = 0;
  let smallestGapMs = Infinity;
  for (let i = 0; i < SAMPLES; i++) {
    const beforeMs = performance.now();
    const [seconds, nanoseconds] = process.hrtime();
    const gapMs = performance.now() - beforeMs;
    if (gapMs >= smallestGapMs) continue;
    smallestGapMs = gapMs;
    offsetMs = seconds * 1_000 + nanoseconds / 1e6 - (beforeMs + gapMs / 2);
  }
  return offsetMs;
}

/** The seconds that another thread's `performance.now()` shows, by its offset. */
export function clockOf(otherOffsetMs: number): () => number {
  const aheadMs = clockOffsetMs() - otherOffsetMs;
  return () => (performance.now() + aheadMs) / 1_000;
}
