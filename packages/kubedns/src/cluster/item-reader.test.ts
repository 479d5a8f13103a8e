import { stepsOf } from '../../test/support/steps.js';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ItemReader, type ListMeta } from './item-reader.js';
import { Unread } from './json-text.js';

/** The items of a list that comes in these pieces, and what it says of itself. */
function read(chunks: readonly Buffer[], reader = new ItemReader('List')): [unknown[], ListMeta] {
  const items = chunks.flatMap((chunk) => [...reader.push(chunk)]);
  return [items, reader.finish()];
}

const readText = (text: string) => read([Buffer.from(text)]);

/** Cuts bytes at the places given, in any order and repeated. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort(
    (left, right) => left - right,
  );
  return [0, ...sorted].map((from, i) => bytes.subarray(from, sorted[i] ?? bytes.length));
}

const META = { resourceVersion: '7', continue: 'more' };
/** Values with everything that could be taken for the structure of the list. */
const values = fc.oneof(
  fc.jsonValue(),
  fc.record({ items: fc.jsonValue(), metadata: fc.jsonValue() }),
  fc.constantFrom<unknown>('"items":[', '\\', ']},{', { '"items":': ['[', ','] }),
  fc.string({ unit: 'grapheme' }),
);

describe('ItemReader', () => {
  it('finds the items of any list, for any chunks and any place of the metadata', () => {
    fc.assert(
      fc.property(
        fc.array(values),
        fc.boolean(),
        fc.constantFrom(undefined, 2),
        fc.array(fc.nat()),
        (items, isMetaFirst, space, places) => {
          const list = isMetaFirst
            ? { kind: 'List', metadata: META, items }
            : { items, others: [1, ['items']], metadata: META };
          const bytes = Buffer.from(JSON.stringify(list, undefined, space));
          const [found, meta] = read(cut(bytes, places));
          expect(JSON.stringify(found)).toBe(JSON.stringify(items));
          expect(meta).toEqual(META);
        },
      ),
    );
  });

  it('accepts null items as none', () => {
    const meta = { resourceVersion: '7', continue: '' };
    for (const items of ['"items":null,', '"items":[],', '"items" : [ ] ,']) {
      expect(readText(`{${items}"metadata":{"resourceVersion":"7"}}`)).toEqual([[], meta]);
    }
  });

  it('does not take the items of something inside the list for its own', () => {
    const text = '{"a":{"items":[1]},"metadata":{"resourceVersion":"7","items":[2]},"items":[3]}';
    expect(readText(text)[0]).toEqual([3]);
  });

  it.each([
    ['', /the list is not JSON/],
    ['<html>no</html>', /the list is not JSON/],
    ['null', /no resourceVersion/],
    ['[]', /no resourceVersion/],
    ['{}', /no resourceVersion/],
    ['{"status":"ok","items":[]}', /no resourceVersion/],
    ['{"metadata":{"resourceVersion":7},"items":[]}', /no resourceVersion/],
    ['{"metadata":{"resourceVersion":"7"}}', /it has no items/],
    ['{"metadata":{"resourceVersion":"7"},"items":{}}', /it has no items/],
    ['{"metadata":{"resourceVersion":"7"},"\\u0069tems":[1]}', /it has no items/],
    ['{"metadata":{"resourceVersion":"7"},"items":[1],"items":[2]}', /its items twice/],
    [
      '{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[]}',
      /kind "PodList", not List/,
    ],
    ['{"metadata":{"resourceVersion":"7"},"items":[],"kind":"Pods"}', /kind "Pods", not List/],
    ['{"kind":"Status","code":410}', /kind "Status", not List/],
    ['{"kind":3,"metadata":{"resourceVersion":"7"},"items":[]}', /kind 3, not List/],
    ['{"metadata":{"resourceVersion":"7"},"an\\"items":[1]}', /it has no items/],
    [`{"kind":"${'x'.repeat(900)}"}`, /kind "x{39}, not List/],
    ['{"metadata":{"resourceVersion":"7"},"items":[{"a":1},{"b":', /the list is not JSON/],
    ['{"metadata":{"resourceVersion":"7"},"items":[{"a":1}', /the list is not JSON/],
    ['{"metadata":{"resourceVersion":"7"},"items":[{"a":1}]', /the list is not JSON/],
    ['{"metadata":{"resourceVersion":"7"},"items":[{"a":1}}}', /the list is not JSON/],
    ['{"metadata":{"resourceVersion":"7"},"items":[{"a":nonsense}]}', /an item is not JSON/],
    ['{"metadata":{"resourceVersion":"7"},"items":[{"a":1} {"b":2}]}', /an item is not JSON/],
    ['{"metadata":{"resourceVersion":"7"},"items":[]} and more', /the list is not JSON/],
  ])('throws for %s', (text, problem) => {
    expect(() => readText(text)).toThrow(problem);
  });

  it('yields no item of a list that is of another kind', () => {
    const text = '{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[{"a":1}]}';
    expect(() => new ItemReader('ServiceList').push(Buffer.from(text)).next()).toThrow(
      'the answer is of kind "PodList", not ServiceList',
    );
  });

  it('throws for whatever is cut off from a list', () => {
    const text = JSON.stringify({ items: [{ a: '[' }, { b: '"' }], metadata: META });
    for (let length = 0; length < text.length; length++) {
      expect(() => readText(text.slice(0, length))).toThrow(/is not JSON/);
    }
  });

  it('reads a list with thousands of other arrays once, and not once for each', () => {
    const end = '"items" :\n[1],"metadata":{"resourceVersion":"7"}}';
    const nested = (count: number) => `{"others":[${'[],'.repeat(count)}0],"a":[],${end}`;
    const flat = (count: number) => `{${'"a":[],'.repeat(count)}${end}`;
    for (const textOf of [nested, flat]) {
      const [half, whole] = [4_000, 8_000].map((count) =>
        stepsOf(() => expect(readText(textOf(count))[0]).toEqual([1])),
      );
      expect(whole).toBeGreaterThan(8_000);
      expect(whole).toBeLessThan(half! * 2.5);
    }
  });

  it('passes over an item that is too large, and reads the next', () => {
    const spaces = Buffer.alloc(60, 0x20);
    const reader = new ItemReader('List', 100);
    const before = Buffer.from('{"metadata":{"resourceVersion":"7"},"items":[{"a":1},{"b":');
    expect([...reader.push(before)]).toEqual([{ a: 1 }]);
    for (let i = 0; i < 5; i++) expect([...reader.push(spaces)]).toEqual([]);
    const [large, next] = [...reader.push(Buffer.from('2},{"c":3}]}'))];
    expect(large).toBeInstanceOf(Unread);
    expect((large as Unread).reason).toBe('it has more than 100 bytes');
    expect((large as Unread).head).toMatch(/^\{"b": +$/);
    expect(next).toEqual({ c: 3 });
    expect(reader.finish()).toEqual({ resourceVersion: '7', continue: '' });
  });

  it('refuses a list with too much around the items', () => {
    const large = Buffer.alloc(300 * 1024, 0x20);
    expect(() => [...new ItemReader('List').push(large)]).toThrow(/around the items exceeds/);
  });
});
