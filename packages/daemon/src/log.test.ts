import { describe, expect, it } from '@jest/globals';

import { createLog, createStderrWriter, type LogSink } from './log.js';

function collect(verbosity = 0) {
  const lines: string[] = [];
  const now = () => new Date(2026, 10, 21, 3, 10, 0, 123).getTime() + 0.456;
  const log = createLog({ name: 'sample', verbosity, write: (line) => lines.push(line), now });
  return { log, lines };
}

class SlowSink implements LogSink {
  writableLength = 0;
  readonly written: string[] = [];
  readonly errorListeners: ((error: Error) => void)[] = [];

  write(text: string): boolean {
    this.written.push(text);
    return true;
  }

  on(_event: 'error', listener: (error: Error) => void): void {
    this.errorListeners.push(listener);
  }
}

describe('createLog', () => {
  it('writes a line in the form of klog for each severity', () => {
    const { log, lines } = collect();
    log.info('one');
    log.warn('two');
    log.error('three');
    const head = `1121 03:10:00.123456 ${String(process.pid).padStart(7)} sample] `;
    expect(lines).toEqual([`I${head}one\n`, `W${head}two\n`, `E${head}three\n`]);
  });

  it('writes verbose messages up to the verbosity only', () => {
    const { log, lines } = collect(2);
    for (const level of [0, 2, 3]) log.verbose(level, `level ${level}`);
    expect(lines.map((line) => line.split('] ')[1])).toEqual(['level 0\n', 'level 2\n']);
    expect([log.isEnabled(2), log.isEnabled(3)]).toEqual([true, false]);
  });

  it('makes one line of a message with line breaks and control characters', () => {
    const { log, lines } = collect();
    log.info('a\r\nb\tc\u001b[31md\u0000\u0085\u2028e ü');
    expect(lines[0]!.split('] ')[1]).toBe('a\\r\\nb\\tc\\u001b[31md\\u0000\\u0085\\u2028e ü\n');
  });

  it('writes an object per line with --logging-format=json', () => {
    const lines: string[] = [];
    const write = (line: string) => lines.push(line);
    const log = createLog({ name: 'sample', verbosity: 2, format: 'json', write, now: () => 1.5 });
    log.info('one "quoted"');
    log.warn('two');
    log.error('three\nlines');
    log.verbose(2, 'four');
    const common = { ts: 1.5, logger: 'sample' };
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { ...common, level: 'info', msg: 'one "quoted"', v: 0 },
      { ...common, level: 'warning', msg: 'two', v: 0 },
      { ...common, level: 'error', msg: 'three\\nlines', err: 'three\\nlines' },
      { ...common, level: 'info', msg: 'four', v: 2 },
    ]);
    expect(lines.every((line) => line.indexOf('\n') === line.length - 1)).toBe(true);
  });

  it('cuts a message that is too long', () => {
    const { log, lines } = collect();
    for (const length of [8_192, 8_193, 100_000]) log.info('x'.repeat(length));
    const most = 'x'.repeat(8_192);
    expect(lines.map((line) => line.split('] ')[1])).toEqual([
      `${most}\n`,
      `${most}…\n`,
      `${most}…\n`,
    ]);
  });
});

describe('createStderrWriter', () => {
  it('drops lines while the reader is too slow, and writes how many once it has caught up', () => {
    const sink = new SlowSink();
    const write = createStderrWriter(sink);
    write('first\n');
    sink.writableLength = 1024 * 1024;
    write('lost\n');
    write('lost too\n');
    sink.writableLength = 0;
    write('last\n');
    expect(sink.written).toEqual([
      'first\n',
      '(2 log lines dropped: stderr is read too slowly)\n',
      'last\n',
    ]);
  });

  it('listens to the errors of a stream once, however many logs write to it', () => {
    const sink = new SlowSink();
    createStderrWriter(sink);
    createStderrWriter(sink);
    expect(sink.errorListeners).toHaveLength(1);
  });
});
