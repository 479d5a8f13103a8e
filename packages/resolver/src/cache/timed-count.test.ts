import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { TimedCount } from './timed-count.js';

describe('a count of what ends', () => {
  it('counts each to the end of its last second', () => {
    const count = new TimedCount();
    count.add(105.5, 100.5);
    count.add(106, 100.5);
    expect([100.5, 105.9, 106].map((now) => count.at(now))).toEqual([2, 2, 0]);
  });

  it('agrees with a list, whatever is added and removed, and however much time passes', () => {
    const step = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.tuple(fc.constant('add'), fc.double({ min: 1, max: 3_600, noNaN: true })),
      },
      {
        weight: 2,
        arbitrary: fc.tuple(fc.constant('remove'), fc.double({ min: 0, max: 0.999, noNaN: true })),
      },
      {
        weight: 3,
        arbitrary: fc.tuple(fc.constant('wait'), fc.double({ min: 0, max: 5, noNaN: true })),
      },
      {
        weight: 1,
        arbitrary: fc.tuple(fc.constant('wait'), fc.double({ min: 0, max: 9_000, noNaN: true })),
      },
      { weight: 1, arbitrary: fc.tuple(fc.constant('look'), fc.constant(0)) },
    );
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1e7, noNaN: true }),
        fc.array(step, { maxLength: 80 }),
        (start, steps) => {
          const count = new TimedCount();
          /** All that were not removed, the ended ones too. */
          const ends: number[] = [];
          let now = start;
          for (const [action, amount] of steps) {
            if (action === 'wait') now += amount;
            else if (action === 'add') {
              ends.push(now + amount);
              count.add(now + amount, now);
            } else if (action === 'remove' && ends.length > 0) {
              const [end] = ends.splice(Math.floor(amount * ends.length), 1);
              count.remove(end!);
            } else {
              expect(count.at(now)).toBe(
                ends.filter((end) => Math.ceil(end) > Math.floor(now)).length,
              );
            }
          }
          expect(count.at(now)).toBe(ends.filter((end) => Math.ceil(end) > Math.floor(now)).length);
        },
      ),
      { numRuns: 500 },
    );
  });
});
