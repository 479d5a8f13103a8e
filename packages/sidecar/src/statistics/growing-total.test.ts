import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { GrowingTotal } from './growing-total.js';

function totalOf(readings: readonly number[]): number {
  const total = new GrowingTotal();
  for (const reading of readings) total.read(reading);
  return total.total;
}

describe('GrowingTotal', () => {
  it.each([
    ['nothing read', [], 0],
    ['a first reading', [7], 7],
    ['growth', [7, 10], 10],
    ['no growth', [7, 7], 7],
    ['a restart', [10, 3], 10],
    ['growth after a restart', [10, 3, 5], 12],
    ['a restart to zero', [10, 0, 4], 14],
    ['an invalid negative reading', [10, -5, 4], 14],
  ])('handles %s', (_what, readings, total) => {
    expect(totalOf(readings)).toBe(total);
  });

  it('never falls, whatever is read', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -1_000, max: 1_000 })), (readings) => {
        const total = new GrowingTotal();
        let before = 0;
        for (const reading of readings) {
          total.read(reading);
          expect(total.total).toBeGreaterThanOrEqual(before);
          before = total.total;
        }
      }),
    );
  });
});
