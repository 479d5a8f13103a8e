import { describe, expect, it } from '@jest/globals';
import { LineSplitter, LogTail, MAX_LINE_LENGTH } from './log-lines.js';

function linesOf(chunks: readonly Buffer[]): string[] {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line));
  for (const chunk of chunks) splitter.push(chunk);
  splitter.end();
  return lines;
}

describe('cutting output into lines', () => {
  it('returns the same lines wherever the chunks end', () => {
    const bytes = Buffer.from('one\r\n\nzwölf €\nlast');
    for (let size = 1; size <= bytes.length; size += 1) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      expect(linesOf(chunks)).toEqual(['one', '', 'zwölf €', 'last']);
    }
  });

  it('splits a line without an end into pieces as it arrives', () => {
    const lengths: number[] = [];
    const splitter = new LineSplitter((line) => lengths.push(line.length));
    for (let count = 0; count < 5; count += 1) splitter.push(Buffer.alloc(MAX_LINE_LENGTH, 'x'));
    expect(lengths).toEqual([MAX_LINE_LENGTH, MAX_LINE_LENGTH, MAX_LINE_LENGTH, MAX_LINE_LENGTH]);
  });

  it('leaves a line of just the greatest length whole', () => {
    const line = 'x'.repeat(MAX_LINE_LENGTH);
    expect(linesOf([Buffer.from(`${line}\n`)])).toEqual([line]);
  });
});

describe('the reason in the last lines', () => {
  it.each([
    [['starting', 'port 53 in use'], 'port 53 in use'],
    [['bad flag', '', '  '], 'bad flag'],
    [
      ['file.mjs:1', 'Error: no such thing', '    at x (y:1)', '{', '}', '', 'Node.js v24.0.0'],
      'Error: no such thing',
    ],
    [['  indented only'], 'indented only'],
    [[], ''],
  ])('of %j is %j', (lines, reason) => {
    const tail = new LogTail();
    for (const line of lines) tail.push(line);
    expect(tail.reason()).toBe(reason);
  });

  it('is short however long the line was', () => {
    const tail = new LogTail();
    tail.push('x'.repeat(100_000));
    expect(tail.reason()).toHaveLength(500);
  });
});
