import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ByteArena, ByteIndex } from './byte-index.js';
import { NONE } from '@kube-dns/resolver';

const key = fc.uint8Array({ maxLength: 20 });

describe('an index of keys', () => {
  it('numbers keys in their order and finds them inside a larger buffer', () => {
    fc.assert(
      fc.property(fc.array(key, { maxLength: 300 }), fc.array(key), (added, asked) => {
        const index = new ByteIndex(new ByteArena());
        const model = new Map<string, number>();
        for (const bytes of added) {
          const text = bytes.join();
          if (!model.has(text)) model.set(text, model.size);
          expect(index.add(bytes, 0, bytes.length)).toBe(model.get(text));
        }
        for (const bytes of [...added, ...asked]) {
          const padded = Uint8Array.of(7, ...bytes, 7);
          const found = index.find(padded, 1, 1 + bytes.length);
          expect(found).toBe(model.get(bytes.join()) ?? NONE);
        }
        expect(index.size).toBe(model.size);
      }),
      { numRuns: 100 },
    );
  });

  it('finds every one of thirty thousand keys, each as it was stored', () => {
    const arena = new ByteArena();
    const index = new ByteIndex(arena);
    const bytesOf = (n: number) => Buffer.from(`key ${n}`);
    for (let n = 0; n < 30_000; n++) index.add(bytesOf(n), 0, bytesOf(n).length);
    const wrong: number[] = [];
    for (let n = 0; n < 30_000; n++) {
      const bytes = bytesOf(n);
      const out = Buffer.alloc(index.lengthOf(n));
      arena.copy(index.placeOf(n), out);
      if (index.find(bytes, 0, bytes.length) !== n || !out.equals(bytes)) wrong.push(n);
    }
    expect(wrong).toEqual([]);
    expect(index.find(Buffer.from('key x'), 0, 5)).toBe(NONE);
  });

  it('takes a key that is in the arena already as it lies there', () => {
    const arena = new ByteArena();
    const index = new ByteIndex(arena);
    const whole = Buffer.from('whole');
    const place = arena.put(whole, 0, 5);
    const number = index.add(whole, 2, 5, place + 2);
    expect(index.placeOf(number)).toBe(place + 2);
    expect(index.find(Buffer.from('ole'), 0, 3)).toBe(number);
  });
});
