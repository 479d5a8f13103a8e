import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { LogText } from '../../test/support/log-text.js';
import { LineSplitter, LogOutput, LogTail, MAX_LINE_LENGTH, wantsColours } from './log.js';

describe('the common log', () => {
  it('puts the name of its container before each line', async () => {
    const out = new LogText();
    const log = new LogOutput(out, ['a', 'long-name'], false);
    const seen: string[] = [];
    const sink = log.sink('a', (line) => seen.push(line));
    sink.write('one\ntwo');
    sink.end();
    await once(sink, 'finish');
    log.say('hello');
    log.close();
    expect(out.text).toBe('a         | one\na         | two\nkube-dns  | hello\n');
    expect(seen).toEqual(['one', 'two']);
  });

  it('colours each container differently', () => {
    const out = new LogText();
    const log = new LogOutput(out, ['a', 'b'], true);
    log.sink('a', () => undefined).end('x\n');
    log.sink('b', () => undefined).end('x\n');
    log.close();
    expect(out.text).toBe('\u001b[36ma        |\u001b[0m x\n\u001b[33mb        |\u001b[0m x\n');
  });

  it('stops reading a container while the log is not read', async () => {
    const out = new PassThrough({ highWaterMark: 1_024 });
    const log = new LogOutput(out, ['a'], false);
    let produced = 0;
    const source = new Readable({
      read() {
        produced += 1;
        this.push(produced > 1_000 ? null : Buffer.from(`${'x'.repeat(999)}\n`));
      },
    });
    const sink = log.sink('a', () => undefined);
    source.pipe(sink);
    const before = await until('a pause', () => {
      const is = produced;
      return out.writableNeedDrain && is;
    });
    expect(before).toBeLessThan(200);
    out.resume();
    await once(sink, 'finish');
    expect(produced).toBe(1_001);
    log.close();
  });

  it('does not block a container when the reader of the log has gone', async () => {
    const out = new PassThrough({ highWaterMark: 1 });
    const log = new LogOutput(out, ['a'], false);
    const sink = log.sink('a', () => undefined);
    sink.write('held back\n');
    out.destroy();
    sink.end('more\n');
    await once(sink, 'finish');
    log.close();
  });
});

describe('whether to use colours', () => {
  it.each([
    [{}, true, true],
    [{}, false, false],
    [{ NO_COLOR: '1' }, true, false],
    [{ NO_COLOR: '' }, true, true],
    [{ FORCE_COLOR: '1' }, false, true],
    [{ FORCE_COLOR: '' }, false, true],
    [{ FORCE_COLOR: '0' }, true, false],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, false, true],
  ])('with %j and TTY %s: %s', (env, isTty, wanted) => {
    expect(wantsColours(env, isTty)).toBe(wanted);
  });
});

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
