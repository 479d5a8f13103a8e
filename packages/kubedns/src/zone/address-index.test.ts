import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { AddressIndex } from './address-index.js';

/** The owners that an index tells for a hash, in ascending order. */
function owners(index: AddressIndex, hash: number): number[] {
  const found: number[] = [];
  for (let at = index.first(hash); at >= 0; at = index.next(at)) found.push(index.serviceOf(at));
  return found.sort((left, right) => left - right);
}

describe('AddressIndex', () => {
  it('returns each owner once until it is removed as often as it was added', () => {
    const step = fc.record({
      isAdding: fc.boolean(),
      hash: fc.integer({ min: -4, max: 4 }),
      owner: fc.nat({ max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const index = new AddressIndex();
        let model: { hash: number; owner: number }[] = [];
        for (const { isAdding, hash, owner } of steps) {
          if (isAdding) {
            index.add(hash, owner);
            model.push({ hash, owner });
          } else {
            index.remove(hash, owner);
            const at = model.findIndex((one) => one.hash === hash && one.owner === owner);
            model = model.filter((_, i) => i !== at);
          }
          expect(index.size).toBe(new Set(model.map((one) => JSON.stringify(one))).size);
        }
        for (let hash = -4; hash <= 4; hash++) {
          const expected = new Set(
            model.filter((one) => one.hash === hash).map((one) => one.owner),
          );
          expect(owners(index, hash)).toEqual([...expected].sort((left, right) => left - right));
        }
      }),
    );
  });

  it('grows beyond its first capacity, and reuses free entries', () => {
    const index = new AddressIndex();
    const count = 5_000;
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < count; i++) index.add(Math.imul(i, 0x9e37_79b1), i);
      expect(owners(index, Math.imul(4_999, 0x9e37_79b1))).toEqual([4_999]);
      for (let i = 0; i < count; i++) index.remove(Math.imul(i, 0x9e37_79b1), i);
      expect(index.size).toBe(0);
    }
  });

  it('finds every entry at each step while it grows, and those that are removed never', () => {
    const index = new AddressIndex();
    const hashOf = (i: number) => Math.imul(i >> 1, 0x9e37_79b1);
    for (let i = 0; i < 9_000; i++) {
      index.add(hashOf(i), i);
      if (i % 7 === 3) index.remove(hashOf(i - 3), i - 3);
      // Two have each hash; some 100 of all that are there are looked for.
      for (let j = i % 701; j <= i && i % 50 === 0; j += 701) {
        const isThere = (one: number) => one <= i && !(one % 7 === 0 && one + 3 <= i);
        expect(owners(index, hashOf(j))).toEqual([j & ~1, j | 1].filter(isThere));
      }
    }
  });

  it('hashes an address the same from text and from bytes', () => {
    const index = new AddressIndex();
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        const text = Buffer.from(bytes).toString('latin1');
        expect(index.hashText(`..${text}`, 2, 16)).toBe(index.hashBytes(bytes, 16));
      }),
    );
  });
});
