import { afterEach, describe, expect, it } from '@jest/globals';
import { holdClock, nowMs, releaseClock } from './batch-clock.js';

/** Until the clock of the process has moved. */
function wait(): void {
  for (const sinceMs = performance.now(); performance.now() === sinceMs;);
}

describe('the clock of batches', () => {
  afterEach(releaseClock);

  it('stands still while a batch is handled', () => {
    holdClock();
    const heldMs = nowMs();
    wait();
    expect(nowMs()).toBe(heldMs);
    holdClock();
    expect(nowMs()).toBeGreaterThan(heldMs);
  });

  it('is that of the process otherwise', () => {
    holdClock();
    const heldMs = nowMs();
    wait();
    releaseClock();
    const beforeMs = performance.now();
    expect(beforeMs).toBeGreaterThan(heldMs);
    expect(nowMs()).toBeGreaterThanOrEqual(beforeMs);
  });
});
