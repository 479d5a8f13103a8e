import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LineReader } from './json-lines.js';
import { Unread } from './json-text.js';

function linesOf(chunks: readonly Buffer[], reader = new LineReader()): unknown[] {
  return chunks.flatMap((chunk) => [...reader.push(chunk)]);
}

/** Cuts bytes at the places given, in any order and repeated. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort(
    (left, right) => left - right,
  );
  return [0, ...sorted].map((from, i) => bytes.subarray(from, sorted[i] ?? bytes.length));
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
