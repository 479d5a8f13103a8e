import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readJsonLines } from './json-lines.js';

async function linesOf(chunks: readonly Buffer[], maxLineBytes?: number): Promise<unknown[]> {
  const lines: unknown[] = [];
  const body = Readable.from(chunks);
  for await (const line of readJsonLines(body, maxLineBytes)) lines.push(line);
  return lines;
}

/** Cuts bytes at the places given, in any order and repeated. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort(
    (left, right) => left - right,
  );
  return [0, ...sorted].map((from, i) => bytes.subarray(from, sorted[i] ?? bytes.length));
}

describe('readJsonLines', () => {
  it('finds the same lines wherever the stream is cut', async () => {
    const values = fc.array(fc.oneof(fc.jsonValue(), fc.string({ unit: 'grapheme' })));
    await fc.assert(
      fc.asyncProperty(values, fc.array(fc.nat()), async (expected, places) => {
        const text = expected.map((value) => `${JSON.stringify(value)}\n`).join('');
        const lines = await linesOf(cut(Buffer.from(text), places));
        expect(JSON.stringify(lines)).toBe(JSON.stringify(expected));
      }),
    );
  });

  it('leaves empty lines out, and what stands behind the last newline', async () => {
    expect(await linesOf([Buffer.from('\n1\n\n2\n{"cut":')])).toEqual([1, 2]);
  });

  it('throws at a line that is no JSON, after the lines before it', async () => {
    const seen: unknown[] = [];
    const read = async () => {
      for await (const line of readJsonLines(Readable.from([Buffer.from('1\nx\n2\n')]))) {
        seen.push(line);
      }
    };
    await expect(read()).rejects.toThrow('a line is no JSON');
    expect(seen).toEqual([1]);
  });

  it('throws when a line does not end', async () => {
    const chunks = Array.from({ length: 11 }, () => Buffer.alloc(10, 0x20));
    await expect(linesOf(chunks, 100)).rejects.toThrow('a line exceeds 100 bytes');
    const longest = [...chunks.slice(1), Buffer.from('1\n')];
    expect(await linesOf([...longest, ...longest], 100)).toEqual([1, 1]);
  });
});
