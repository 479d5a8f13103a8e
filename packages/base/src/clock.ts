/** The longest delay of a Node timer; a longer one fires immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** A clock and its timers; tests inject one that they advance by hand. */
export interface Clock {
  /** Milliseconds from a fixed point; never goes back. */
  now(): number;
  /** Calls `action` once after `delayMs`; the returned function cancels and may be called again. */
  after(delayMs: number, action: () => void): () => void;
}

/** The machine's monotonic clock. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after: (delayMs, action) => {
    const timer = setTimeout(action, delayMs);
    return () => clearTimeout(timer);
  },
};
