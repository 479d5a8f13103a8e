import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SpaceSaving, TopList } from './top-questions.js';

/** Keys that often occur and keys that seldom do, so that counters change hands. */
const questions = fc.array(
  fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 40 })),
  { maxLength: 300 },
);

const keyOf = (number: number) => Buffer.from(`client ${number}`);

function exactCounts(numbers: readonly number[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const number of numbers) {
    const key = keyOf(number).toString();
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

function textOf(key: Uint8Array): string {
  return Buffer.from(key).toString();
}

describe('counters that change hands', () => {
  it('are exact while there are enough of them', () => {
    fc.assert(
      fc.property(questions, (numbers) => {
        const list = new SpaceSaving(64, 16);
        for (const number of numbers) list.add(keyOf(number), keyOf(number).length, 1);
        const counted = [...list.keys()];
        expect(new Map(counted.map(({ key, count }) => [textOf(key), count]))).toEqual(
          exactCounts(numbers),
        );
        expect(counted.every(({ error }) => error === 0)).toBe(true);
      }),
    );
  });

  it('bound the exact count of each key, and have every key that is frequent', () => {
    const counters = 8;
    fc.assert(
      fc.property(questions, (numbers) => {
        const list = new SpaceSaving(counters, 16);
        for (const number of numbers) list.add(keyOf(number), keyOf(number).length, 1);
        const exact = exactCounts(numbers);
        const counted = [...list.keys()];
        for (const { key, count, error } of counted) {
          const truth = exact.get(textOf(key)) ?? 0;
          expect(count).toBeGreaterThanOrEqual(truth);
          expect(count - error).toBeLessThanOrEqual(truth);
        }
        const sum = counted.reduce((total, { count }) => total + count, 0);
        expect(sum).toBe(numbers.length);
        const listed = new Set(counted.map(({ key }) => textOf(key)));
        for (const [key, count] of exact) {
          if (count > numbers.length / counters) expect(listed).toContain(key);
          else if (!listed.has(key)) expect(count).toBeLessThanOrEqual(list.floor);
        }
      }),
    );
  });

  it('count as many times as they are asked to', () => {
    const list = new SpaceSaving(2, 4);
    list.add(Buffer.from('aa'), 1, 16);
    list.add(Buffer.from('a'), 1, 1);
    list.add(Buffer.from('b'), 1, 5);
    list.add(Buffer.from('c'), 1, 1);
    expect([...list.keys()].map(({ key, ...rest }) => ({ key: textOf(key), ...rest }))).toEqual([
      { key: 'a', count: 17, error: 0 },
      { key: 'c', count: 6, error: 5 },
    ]);
  });

  it('begin anew', () => {
    const list = new SpaceSaving(2, 4);
    for (const key of ['a', 'b', 'c', 'd']) list.add(Buffer.from(key), 1, 3);
    list.clear();
    list.add(Buffer.from('d'), 1, 1);
    expect([...list.keys()]).toEqual([{ key: Uint8Array.of(100), count: 1, error: 0 }]);
    expect(list.countOf(Buffer.from('a'))).toEqual({ count: 0, error: 0 });
  });
});

describe('the list of the last minute', () => {
  it('bounds the exact counts of both half minutes together', () => {
    const numbers = fc.array(fc.integer({ min: 0, max: 600 }), { maxLength: 900 });
    fc.assert(
      fc.property(numbers, numbers, (before, now) => {
        const list = new TopList(16);
        for (const number of before) list.add(keyOf(number), keyOf(number).length, 1);
        list.rotate();
        for (const number of now) list.add(keyOf(number), keyOf(number).length, 1);
        const exact = exactCounts([...before, ...now]);
        const rows = list.first(1_000);
        for (const { key, count, error } of rows) {
          const truth = exact.get(textOf(key)) ?? 0;
          expect(count).toBeGreaterThanOrEqual(truth);
          expect(count - error).toBeLessThanOrEqual(truth);
        }
        const counts = rows.map(({ count }) => count);
        expect(counts).toEqual([...counts].sort((a, b) => b - a));
        expect(new Set(rows.map(({ key }) => textOf(key))).size).toBe(rows.length);
      }),
      { numRuns: 30 },
    );
  });

  it('forgets what is older than two half minutes', () => {
    const list = new TopList(16);
    list.add(Buffer.from('old'), 3, 7);
    list.rotate();
    list.add(Buffer.from('new'), 3, 2);
    expect(list.first(1)).toEqual([
      { key: Uint8Array.from(Buffer.from('old')), count: 7, error: 0 },
    ]);
    list.rotate();
    expect(list.first(5).map(({ key }) => textOf(key))).toEqual(['new']);
    list.rotate();
    expect(list.first(5)).toEqual([]);
  });
});
