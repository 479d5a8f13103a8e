import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { encodeKey } from './name.js';
import { NameTable } from './name-table.js';

const key = (text: string) => encodeKey(text);

describe('NameTable', () => {
  it('finds a name inside a larger buffer', () => {
    const table = new NameTable<string>();
    table.set(key('b.c'), 'found');
    const inside = Uint8Array.from([9, 9, ...key('b.c'), 9]);
    expect(table.get(inside, 2, 7)).toBe('found');
    expect(table.get(inside, 2, 6)).toBeUndefined();
    expect(table.get(inside, 1, 7)).toBeUndefined();
  });

  it('finds the longest suffix of a name, up to the name itself and down to the root', () => {
    const table = new NameTable<string>();
    const find = (text: string) => table.findSuffix(key(text), key(text).length);
    expect(find('a.b.c')).toBeUndefined();
    for (const name of ['c', 'b.c', 'x.a.b.c']) table.set(key(name), name);
    expect(['c', 'a.b.c', 'x.a.b.c', 'xb.c', 'other'].map(find)).toEqual([
      'c',
      'b.c',
      'x.a.b.c',
      'c',
      undefined,
    ]);
    table.set(key('.'), 'root');
    expect([find('other'), find('.')]).toEqual(['root', 'root']);
  });

  it('replaces the value of a name that it has', () => {
    const table = new NameTable<number>();
    table.set(key('a'), 1);
    table.set(key('a'), 2);
    expect(table.size).toBe(1);
    expect(table.get(key('a'), 0, 3)).toBe(2);
  });

  it('still has every name after it grows', () => {
    const table = new NameTable<number>();
    for (let i = 0; i < 5000; i++) table.set(key(`svc-${i}.default`), i);
    expect(table.size).toBe(5000);
    const found = Array.from({ length: 5000 }, (_, i) => {
      const name = key(`svc-${i}.default`);
      return table.get(name, 0, name.length);
    });
    expect(found).toEqual(found.map((_, i) => i));
  });

  it('is empty after clear', () => {
    const table = new NameTable<number>();
    for (let i = 0; i < 100; i++) table.set(key(`n${i}`), i);
    table.clear();
    expect(table.size).toBe(0);
    expect([...table.entries()]).toEqual([]);
    expect(table.get(key('n5'), 0, 4)).toBeUndefined();
  });

  it('shows every entry to a loop that deletes them', () => {
    const table = new NameTable<number>();
    for (let i = 0; i < 300; i++) table.set(key(`n${i}`), i);
    const seen: number[] = [];
    for (const [name, value] of table.entries()) {
      seen.push(value);
      table.delete(name);
    }
    expect(seen.sort((a, b) => a - b)).toEqual(Array.from({ length: 300 }, (_, i) => i));
    expect(table.size).toBe(0);
  });

  it('behaves as a Map for any sequence of set, delete and get', () => {
    const step = fc.record({
      action: fc.constantFrom('set', 'set', 'set', 'delete', 'get'),
      name: fc.nat(400).map((i) => `n${i}.x`),
      value: fc.nat(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 800, size: 'max' }), (steps) => {
        const table = new NameTable<number>();
        const model = new Map<string, number>();
        let isSame = true;
        for (const { action, name, value } of steps) {
          const bytes = key(name);
          if (action === 'set') {
            table.set(bytes, value);
            model.set(name, value);
          } else if (action === 'delete') {
            isSame &&= table.delete(bytes) === model.delete(name);
          } else {
            isSame &&= table.get(bytes, 0, bytes.length) === model.get(name);
          }
          isSame &&= table.size === model.size;
        }
        expect(isSame).toBe(true);
        const entries = [...table.entries()].map(([name, value]) => [name.join(), value] as const);
        const expected = [...model].map(([name, value]) => [key(name).join(), value] as const);
        expect(new Map(entries)).toEqual(new Map(expected));
        expect(entries).toHaveLength(expected.length);
      }),
      { numRuns: 40 },
    );
  });
});
