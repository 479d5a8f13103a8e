const RUNS = -1;
let heldMs = RUNS;
let waitedMs = 0;

/**
 * Milliseconds of the process that never fall. They stand still while a batch of datagrams is handled: to read the
 * clock for each of them costs as much as a tenth of an answer from memory.
 */
export function nowMs(): number {
  return heldMs === RUNS ? performance.now() : heldMs;
}

/** A batch begins: its datagrams have arrived now. Returns now. */
export function holdClock(): number {
  return (heldMs = performance.now());
}

/** The batch is handled. */
export function releaseClock(): void {
  heldMs = RUNS;
}

/** A callback of the event loop has waited for datagrams since then. */
export function noteWait(sinceMs: number): void {
  waitedMs += performance.now() - sinceMs;
}

/** How long the event loop has worked so far, and which part of its time: `eventLoopUtilization()` counts those waits as work. */
export function loopUse(): { activeMs: number; part: number } {
  const { active, idle } = performance.eventLoopUtilization();
  const activeMs = active - waitedMs;
  const allMs = active + idle;
  return { activeMs, part: allMs === 0 ? 0 : activeMs / allMs };
}
