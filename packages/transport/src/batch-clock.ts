const RUNS = -1;
let heldMs = RUNS;

/**
 * Milliseconds of the process that never fall. They stand still while a batch of datagrams is handled: to read the
 * clock for each of them costs as much as a tenth of an answer from memory.
 */
export function nowMs(): number {
  return heldMs === RUNS ? performance.now() : heldMs;
}

/** A batch begins: its datagrams have arrived now. */
export function holdClock(): void {
  heldMs = performance.now();
}

/** The batch is handled. */
export function releaseClock(): void {
  heldMs = RUNS;
}
