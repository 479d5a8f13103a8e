import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { ConfigVolume, until } from '@kube-dns/testkit';
import { ConfigDirectory, type ConfigDirectoryOptions } from './config-directory.js';
import { ConfigChangingError, ConfigError } from './errors.js';
import { createLog } from './log.js';

const LONG_MS = 60 * 60 * 1_000;
/** After a change, until the next read. */
const SETTLE_MS = 50;
let folder: string;
let volume: ConfigVolume;
let lines: string[];
let delivered: { key?: string; other?: string }[];
let followed: ConfigDirectory[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'config-directory-'));
  volume = new ConfigVolume(folder);
  lines = [];
  delivered = [];
  followed = [];
});
afterEach(async () => {
  jest.useRealTimers();
  for (const directory of followed) directory.close();
  await rm(folder, { recursive: true, force: true });
});

async function follow(options: Partial<ConfigDirectoryOptions> = {}): Promise<ConfigDirectory> {
  const directory = new ConfigDirectory({
    path: folder,
    periodMs: 100,
    log: createLog({ name: 'test', verbosity: 0, write: (line) => lines.push(line) }),
    onChange: ({ files }) => void delivered.push(Object.fromEntries(files)),
    ...options,
  });
  followed.push(directory);
  await directory.start();
  return directory;
}

/** Follows a directory that changes during so many reads, and waits for the last of these. */
async function followChanging(reads: number): Promise<ConfigDirectory> {
  jest.useFakeTimers();
  let left = reads;
  const read = (path: string) =>
    left-- > 0
      ? Promise.reject(new ConfigChangingError(`${path}: changes while it is read`))
      : Promise.resolve({ version: '2', files: new Map([['key', '2']]) });
  const directory = await follow({ periodMs: LONG_MS, read });
  await jest.advanceTimersByTimeAsync((reads - 1) * SETTLE_MS);
  expect(delivered).toEqual([]);
  return directory;
}

const messages = () => lines.map((line) => line.trim().split('] ')[1]);

describe('ConfigDirectory', () => {
  it('delivers the current version before start resolves', async () => {
    await volume.put({ key: '1' });
    await follow();
    expect(delivered).toEqual([{ key: '1' }]);
  });

  it('delivers each swap of the volume once, by polling', async () => {
    await volume.put({ key: '1' });
    await follow();
    await volume.put({ key: '2' });
    await until(() => delivered.length === 2);
    await volume.put({ key: '2' }); // the same content in a new place
    await volume.put({ key: '3' });
    await until(() => delivered.at(-1)?.key === '3');
    expect(delivered).toEqual([{ key: '1' }, { key: '2' }, { key: '3' }]);
  });

  it('does not deliver a version again that it has read again', async () => {
    await volume.put({ key: '1' });
    await follow();
    const aside = `${folder}-aside`;
    await rename(folder, aside);
    await until(() => messages().length === 1);
    await rename(aside, folder);
    await until(() => messages().at(-1) === `config: ${folder} is readable again`);
    expect(delivered).toEqual([{ key: '1' }]);
  });

  it('delivers a swap whole although the links of its keys change later', async () => {
    await volume.put({ key: '1' });
    const directory = await follow();
    volume.swap({ other: '2' });
    await until(() => delivered.length === 2);
    volume.link({ other: '2' });
    await volume.put({ key: '3' });
    await until(() => delivered.at(-1)?.key === '3');
    expect(delivered).toEqual([{ key: '1' }, { other: '2' }, { key: '3' }]);
    expect(messages()).toEqual([]);
    expect(directory.rejected).toBe(0);
  });

  it('notices a swap long before the next poll', async () => {
    await volume.put({ key: '1' });
    await follow({ periodMs: LONG_MS });
    await volume.put({ key: '2' });
    await until(() => delivered.length === 2);
    expect(delivered[1]).toEqual({ key: '2' });
  });

  it('notices as soon that a file which could not be read is mended', async () => {
    const file = join(folder, 'key');
    await writeFile(file, '1');
    await follow({ periodMs: LONG_MS });
    await writeFile(file, Buffer.from([0xff, 0xfe]));
    await until(() => lines.length > 0);
    await writeFile(file, '2');
    await until(() => delivered.at(-1)?.key === '2');
  });

  it('delivers an empty configuration when the files are gone', async () => {
    await writeFile(join(folder, 'key'), '1');
    await follow();
    await rm(join(folder, 'key'));
    await until(() => delivered.length === 2);
    expect(delivered[1]).toEqual({});
  });

  it('starts without the directory, which is no error, and delivers when it appears', async () => {
    await rm(folder, { recursive: true });
    const directory = await follow();
    expect(delivered).toEqual([]);
    await mkdir(folder);
    await volume.put({ key: '1' });
    await until(() => delivered.some(({ key }) => key === '1'));
    expect(directory.rejected).toBe(0);
    expect(messages()).toEqual([
      `config: ${folder} does not exist yet; it is read once it does`,
      `config: ${folder} exists now`,
    ]);
    expect(lines.every((line) => line.startsWith('I'))).toBe(true);
  });

  it('keeps the last version while the directory is away, and logs that once as an error', async () => {
    await volume.put({ key: '1' });
    const directory = await follow();
    await volume.remove();
    await until(() => directory.rejected === 1);
    await volume.put({ key: '2' });
    await until(() => delivered.length === 2);
    expect(lines[0]).toMatch(/^E/);
    expect(messages()).toEqual([
      `config: ${folder}: no such file or directory; keeping the previous configuration`,
      `config: ${folder} is readable again`,
    ]);
  });

  it('offers a refused version only once, and the previous one again when it returns', async () => {
    await volume.put({ key: 'good' });
    const offered: string[] = [];
    const directory = await follow({
      onChange: ({ files }) => {
        offered.push(files.get('key') ?? '');
        if (files.get('key') === 'bad') throw new Error('key is bad');
      },
    });
    await volume.put({ key: 'bad' });
    await until(() => offered.length === 2);
    await volume.put({ key: 'bad' }); // rewritten, not changed
    await volume.put({ key: 'good' });
    await until(() => offered.at(-1) === 'good');
    expect(offered).toEqual(['good', 'bad', 'good']);
    expect(messages()).toEqual(['config: key is bad; keeping the previous configuration']);
    expect(directory.rejected).toBe(1);
  });

  it('logs each mistake of a refused version on a separate line, up to twenty', async () => {
    await volume.put({ key: 'bad' });
    await follow({
      onChange: () => {
        throw new ConfigError(Array.from({ length: 22 }, (_, index) => `mistake ${index}`));
      },
    });
    expect(messages()).toHaveLength(21);
    expect(messages().slice(0, 2)).toEqual([
      'config: mistake 0; keeping the previous configuration',
      'config: mistake 1; keeping the previous configuration',
    ]);
    expect(messages().at(-1)).toBe('config: 2 more mistakes; keeping the previous configuration');
  });

  it('reads again, without logging, a directory that changes during nineteen reads', async () => {
    const directory = await followChanging(19);
    await jest.advanceTimersByTimeAsync(SETTLE_MS);
    expect(delivered).toEqual([{ key: '2' }]);
    expect(messages()).toEqual([]);
    expect(directory.rejected).toBe(0);
  });

  it('logs once that a directory cannot be read when it changes during more', async () => {
    const directory = await followChanging(20);
    const failure = `config: ${folder}: changes while it is read; keeping the previous configuration`;
    expect(messages()).toEqual([failure]);
    await jest.advanceTimersByTimeAsync(LONG_MS);
    expect(messages()).toEqual([failure, `config: ${folder} is readable again`]);
    expect(delivered).toEqual([{ key: '2' }]);
    expect(directory.rejected).toBe(1);
  });

  it('outsider 2: reads again only when a version is applied, however many turns that takes', async () => {
    await volume.put({ key: '1' });
    let isApplied = false;
    let reads = 0;
    const started = follow({
      read: () => {
        reads++;
        return Promise.resolve({ version: '1', files: new Map() });
      },
      onChange: async () => {
        for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
        expect(reads).toBe(1);
        isApplied = true;
      },
    });
    const directory = await started;
    expect([isApplied, directory.rejected]).toEqual([true, 0]);
  });

  it('outsider 2: a version that is refused after some turns is logged and counted', async () => {
    await volume.put({ key: '1' });
    const directory = await follow({
      onChange: () => Promise.reject(new ConfigError(['bad key'])),
    });
    expect(directory.rejected).toBe(1);
    expect(directory.refused?.reasons).toEqual(['bad key']);
  });

  it('delivers nothing once it is closed, even when a read is in progress', async () => {
    await volume.put({ key: '1' });
    const directory = new ConfigDirectory({
      path: folder,
      periodMs: 100,
      log: createLog({ name: 'test', verbosity: 0, write: (line) => lines.push(line) }),
      onChange: ({ files }) => void delivered.push(Object.fromEntries(files)),
    });
    const started = directory.start();
    directory.close();
    directory.close();
    await started;
    expect(delivered).toEqual([]);
  });
});
