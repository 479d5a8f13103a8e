import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { LogFile } from './log-file.js';

let folder: string;
let path: string;
let file: LogFile | undefined;
let elsewhere: string[];
let now: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'log-file-'));
  path = join(folder, 'log');
  elsewhere = [];
  now = 0;
});

afterEach(async () => {
  await file?.close();
  file = undefined;
  rmSync(folder, { recursive: true });
});

function open(of = path): LogFile {
  file = new LogFile({ path: of, fallback: (line) => elsewhere.push(line), now: () => now });
  return file;
}

const content = () => readFileSync(path, 'utf8');

describe('a log file', () => {
  it('has the lines in their order, behind those that it had', async () => {
    const before = open();
    before.write('before\n');
    await before.close();
    const log = open();
    for (let i = 0; i < 100; i++) log.write(`line ${i}\n`);
    await log.close();
    const lines = Array.from({ length: 100 }, (_, i) => `line ${i}\n`);
    expect(content()).toBe(`before\n${lines.join('')}`);
    expect(elsewhere).toEqual([]);
  });

  it('goes on in a new file after it was moved away', async () => {
    const log = open();
    log.write('old\n');
    await until(() => content() === 'old\n');
    renameSync(path, `${path}.1`);
    log.write('still old\n');
    log.reopen();
    await until(() => {
      log.write('new\n');
      return existsSync(path) && content() !== '';
    });
    await log.close();
    expect(readFileSync(`${path}.1`, 'utf8')).toMatch(/^old\nstill old\n(?:new\n)*$/);
    expect(content()).toMatch(/^(?:new\n)+$/);
  });

  it('stays where it was when the path cannot be opened anew', async () => {
    const log = open();
    renameSync(path, `${path}.1`);
    execFileSync('mkdir', [path]);
    log.reopen();
    await until(() => elsewhere.length > 0);
    expect(elsewhere).toEqual([`cannot open log ${path}: Is a directory\n`]);
    log.write('retained\n');
    await log.close();
    expect(readFileSync(`${path}.1`, 'utf8')).toBe('retained\n');
  });

  it('that is full leaves its lines to the fallback, and is tried again after a while', async () => {
    const log = open('/dev/full');
    log.write('lost\n');
    await until(() => elsewhere.length === 2);
    expect(elsewhere).toEqual(['cannot write log /dev/full: No space left on device\n', 'lost\n']);
    log.write('meanwhile\n');
    expect(elsewhere.at(-1)).toBe('meanwhile\n');
    now = 5_000;
    log.write('again\n');
    expect(elsewhere).toHaveLength(3);
    await until(() => elsewhere.length === 5);
    expect(elsewhere.at(-1)).toBe('again\n');
  });

  it('leaves what comes faster than it is written to the fallback', () => {
    const log = open();
    const line = `${'x'.repeat(100_000)}\n`;
    for (let i = 0; i < 5; i++) log.write(line);
    expect(elsewhere.length).toBeGreaterThan(0);
  });

  it('may be a pipe; without a reader it is an error of the start', async () => {
    execFileSync('mkfifo', [path]);
    expect(() => open()).toThrow(`cannot open log ${path}: `);
    const reader = openSync(path, 'r+');
    open().write('through\n');
    await file!.close();
    const bytes = Buffer.alloc(100);
    expect(bytes.toString('utf8', 0, readSync(reader, bytes))).toBe('through\n');
    closeSync(reader);
  });

  it.each([
    ['/nonexistent/log', 'No such file or directory'],
    ['/tmp', 'Is a directory'],
  ])('that cannot be opened is an error of the start: %s', (of, reason) => {
    const error = expect.objectContaining({
      message: `cannot open log ${of}: ${reason}`,
      exitCode: 3,
    });
    expect(() => open(of)).toThrow(error);
  });

  it('closed leaves lines to the fallback', async () => {
    const log = open();
    await log.close();
    await log.close();
    log.write('late\n');
    expect(elsewhere).toEqual(['late\n']);
  });
});
