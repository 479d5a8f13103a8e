import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SentTable } from './sent-table.js';

interface Sent {
  readonly id: number;
  next: Sent | undefined;
}

const sentWith = (id: number): Sent => ({ id, next: undefined });

describe('the queries that wait for replies', () => {
  it('are found by their IDs, whatever came and went before', () => {
    const ids = fc.integer({ min: 0, max: 0xffff });
    const steps = fc.array(fc.tuple(fc.boolean(), ids), { maxLength: 200 });
    fc.assert(
      fc.property(steps, (all) => {
        const table = new SentTable<Sent>();
        const expected = new Map<number, Sent>();
        for (const [isAdded, id] of all) {
          // Few IDs, so that the same ones come again.
          const own = isAdded ? id : id % 64;
          const known = expected.get(own);
          expect(table.find(own)).toBe(known);
          if (known === undefined) {
            const sent = sentWith(own);
            table.add(sent);
            expected.set(own, sent);
            continue;
          }
          expect(table.remove(known)).toBe(true);
          expect(table.remove(known)).toBe(false);
          expected.delete(own);
        }
        expect(table.size).toBe(expected.size);
        expect(new Set(table.all())).toEqual(new Set(expected.values()));
      }),
    );
  });

  it('are not those of another one with the same ID', () => {
    const table = new SentTable<Sent>();
    const sent = sentWith(7);
    table.add(sent);
    expect(table.remove(sentWith(7))).toBe(false);
    expect(table.find(7)).toBe(sent);
    table.clear();
    expect(table.find(7)).toBeUndefined();
    expect(table.size).toBe(0);
  });

  it('have IDs of 16 bits that differ', () => {
    const table = new SentTable<Sent>();
    for (let i = 0; i < 1_024; i++) table.add(sentWith(table.drawId()));
    const ids = table.all().map(({ id }) => id);
    expect(new Set(ids).size).toBe(1_024);
    expect(Math.max(...ids)).toBeLessThan(65_536);
  });
});
