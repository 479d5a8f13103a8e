import { mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type RecordedLog, recordedLog } from '../../test/recorded-log.js';
import { ServersFile } from './servers-file.js';

let folder: string;
let path: string;
let log: RecordedLog;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'servers-file-'));
  path = join(folder, 'servers');
  log = recordedLog();
});

afterEach(() => rm(folder, { recursive: true }));

describe('a servers file that is read again', () => {
  it('has the rules that are in it now', async () => {
    const file = new ServersFile(path, log);
    await writeFile(path, 'server=/a/1.0.0.1\n');
    expect(file.read()).toHaveLength(1);
    await writeFile(path, 'server=/a/1.0.0.1\nserver=/b/1.0.0.1\n');
    expect(file.read()).toHaveLength(2);
    expect(log.messages).toEqual([]);
  });

  it('keeps the rules of the last time when it is gone', async () => {
    const file = new ServersFile(path, log);
    await writeFile(path, 'server=/a/1.0.0.1\n');
    const rules = file.read();
    await unlink(path);
    expect(file.read()).toBe(rules);
    expect(log.messages).toEqual([`cannot read ${path}: No such file or directory`]);
  });

  it('logs twenty mistakes and counts the others', async () => {
    await writeFile(path, 'frob\n'.repeat(1_000));
    expect(new ServersFile(path, log).read()).toEqual([]);
    expect(log.messages).toHaveLength(21);
    expect(log.messages[19]).toBe(`bad option at line 20 of ${path} (unknown option "frob")`);
    expect(log.messages[20]).toBe(`980 more bad lines in ${path}`);
  });
});
