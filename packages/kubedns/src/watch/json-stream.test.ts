import { stepsOf } from '../../test/support/steps.js';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  ItemReader,
  JsonText,
  LineReader,
  type ListMeta,
  readObjectHead,
  Unread,
} from './json-stream.js';

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

function linesOf(chunks: readonly Buffer[], reader = new LineReader()): unknown[] {
  return chunks.flatMap((chunk) => [...reader.push(chunk)]);
}

describe('LineReader', () => {
  it('finds the same lines wherever the stream is cut', () => {
    const values = fc.array(fc.oneof(fc.jsonValue(), fc.string({ unit: 'grapheme' })));
    fc.assert(
      fc.property(values, fc.array(fc.nat()), (expected, places) => {
        const text = expected.map((value) => `${JSON.stringify(value)}\n`).join('');
        const lines = linesOf(cut(Buffer.from(text), places));
        expect(JSON.stringify(lines)).toBe(JSON.stringify(expected));
      }),
    );
  });

  it('leaves out empty lines, and buffers the bytes after the last newline', () => {
    const reader = new LineReader();
    expect(linesOf([Buffer.from('\n1\n\n2\n{"cut":')], reader)).toEqual([1, 2]);
    expect(reader.pendingBytes).toBe(7);
    expect(linesOf([Buffer.from('3}\n')], reader)).toEqual([{ cut: 3 }]);
    expect(reader.pendingBytes).toBe(0);
  });

  it('throws at a line that is not JSON, after the lines before it', () => {
    const lines = new LineReader().push(Buffer.from('1\nx\n2\n'));
    expect(lines.next().value).toBe(1);
    expect(() => lines.next()).toThrow('a line is not JSON');
  });

  it('stores the beginning of a line above 2 MiB, and no more', () => {
    const chunks = Array.from({ length: 33 }, () => Buffer.alloc(64 * 1024, 0x20));
    expect(linesOf([...chunks, Buffer.from('\n')])).toEqual([
      new Unread('it has more than 2097152 bytes', ' '.repeat(16 * 1024)),
    ]);
  });

  it('reads no further in a line above 64 MiB', () => {
    const mib = Buffer.alloc(1024 * 1024, 0x20);
    const longest = Array.from({ length: 64 }, () => mib);
    const reader = new LineReader();
    expect(linesOf([...longest, Buffer.from('\n1\n')], reader)).toEqual([expect.any(Unread), 1]);
    expect(linesOf(longest, reader)).toEqual([]);
    expect(() => linesOf([Buffer.from(' ')], reader)).toThrow(
      'a line has more than 67108864 bytes',
    );
  });

  it('passes over a line that is too long, and reads the next', () => {
    const chunks = Array.from({ length: 11 }, () => Buffer.alloc(10, 0x20));
    const longest = [...chunks.slice(2), Buffer.from('1\n')];
    const reader = new LineReader(100);
    const long = new Unread('it has more than 100 bytes', ' '.repeat(110));
    expect(linesOf([...chunks, Buffer.from('x\n'), ...longest], reader)).toEqual([long, 1]);
    expect(linesOf([...longest, ...chunks, ...chunks, Buffer.from('\n2\n')], reader)).toEqual([
      1,
      long,
      2,
    ]);
  });
});

const KIB = 1024;
const MIB = 1024 * KIB;

describe('JsonText', () => {
  it('stores no more than the limit and a piece of a text that never ends, and then its beginning', () => {
    const text = new JsonText('an item');
    const piece = Buffer.alloc(64 * KIB, ' ');
    let most = 0;
    for (let added = 0; added < 8 * MIB; added += piece.length) {
      text.add(piece);
      most = Math.max(most, text.storedBytes);
    }
    expect(text.bytes).toBe(8 * MIB);
    expect(most).toBe(2 * MIB);
    expect(text.storedBytes).toBe(16 * KIB);
    expect(text.take()).toEqual(new Unread('it has more than 2097152 bytes', ' '.repeat(16 * KIB)));
    expect(text.storedBytes).toBe(0);
  });

  it('stores the beginning alone of a text that is too complex', () => {
    const text = new JsonText('an item');
    text.add(Buffer.from('['.repeat(100 * KIB)));
    expect(text.storedBytes).toBe(16 * KIB);
  });
});

const METADATA = { name: 'web', namespace: 'shop', uid: 'u', resourceVersion: '7' };

describe('readObjectHead', () => {
  it('reads kind, name, namespace and version of an object or an event that is cut anywhere after them', () => {
    const object = {
      kind: 'Service',
      metadata: METADATA,
      spec: { name: 'not this', x: ['"', '{'] },
    };
    const after = { kind: 'Service', metadata: { ...METADATA, uid: undefined } };
    for (const value of [object, { type: 'ADDED', object }]) {
      const text = JSON.stringify(value);
      for (let length = text.indexOf('"spec"'); length <= text.length; length++) {
        expect(readObjectHead(text.slice(0, length))).toEqual(after);
      }
    }
  });

  it('takes nothing for the metadata that is not', () => {
    const text = JSON.stringify({ spec: { metadata: METADATA }, metadata: { labels: METADATA } });
    expect(readObjectHead(text).metadata).toEqual({});
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.string(), (text) => void readObjectHead(text)));
  });

  it('ends at a string that does not end, however long that is', () => {
    const steps = (count: number) =>
      stepsOf(() => readObjectHead(`{"metadata":{"name":"${'\\"'.repeat(count)}`));
    expect(steps(8_000)).toBe(steps(10));
  });

  it('takes a step for each bracket', () => {
    const steps = (count: number) => stepsOf(() => readObjectHead('['.repeat(count)));
    expect(steps(16_000)).toBeGreaterThan(16_000);
    expect(steps(16_000)).toBeLessThan(2.5 * steps(8_000));
  });
});
