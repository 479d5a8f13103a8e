import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { readlinkSync, renameSync, symlinkSync } from 'node:fs';
import { mkdir, mkdtemp, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { ConfigVolume } from '@kube-dns/testkit';
import { readConfigDirectory } from './config-directory.js';
import { ConfigChangingError, ConfigDirectoryError } from './errors.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'config-files-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('readConfigDirectory', () => {
  it('reads plain files in name order and hashes names and contents', async () => {
    await writeFile(join(folder, 'b'), 'two');
    await writeFile(join(folder, 'a'), 'öne');
    const { version, files } = await readConfigDirectory(folder);
    expect([...files]).toEqual([
      ['a', 'öne'],
      ['b', 'two'],
    ]);
    expect(version).toBe(createHash('sha256').update('a\0öne\0b\0two\0').digest('hex'));
  });

  it('skips what starts with a dot and directories, and follows links to files', async () => {
    await mkdir(join(folder, '..2026_1'));
    await writeFile(join(folder, '..2026_1', 'key'), 'value');
    await symlink('..2026_1', join(folder, '..data'));
    await symlink('..data/key', join(folder, 'key'));
    await writeFile(join(folder, '.hidden'), 'x');
    await mkdir(join(folder, 'sub'));
    const { files } = await readConfigDirectory(folder);
    expect([...files]).toEqual([['key', 'value']]);
  });

  it('reads a ConfigMap whose new key has no link yet, and whose old key still has one', async () => {
    const volume = new ConfigVolume(folder);
    await volume.put({ common: '1', old: '1' });
    volume.swap({ common: '2', new: '2' });
    const between = await readConfigDirectory(folder);
    expect([...between.files]).toEqual([
      ['common', '2'],
      ['new', '2'],
    ]);
    volume.link({ common: '2', new: '2' });
    expect(await readConfigDirectory(folder)).toEqual(between);
  });

  it('reads a ConfigMap without its last key as empty, also while the link of the key remains', async () => {
    const volume = new ConfigVolume(folder);
    await volume.put({ key: '1' });
    volume.swap({});
    expect(await readConfigDirectory(folder)).toEqual({ version: '', files: new Map() });
  });

  it('follows a link to the data that is not relative', async () => {
    const elsewhere = join(folder, '..elsewhere');
    await mkdir(elsewhere);
    await writeFile(join(elsewhere, 'key'), 'value');
    await symlink(elsewhere, join(folder, '..data'));
    expect([...(await readConfigDirectory(folder)).files]).toEqual([['key', 'value']]);
  });

  it('refuses a volume whose data is gone, although its keys have links', async () => {
    const volume = new ConfigVolume(folder);
    await volume.put({ key: '1' });
    const data = join(folder, await readlink(join(folder, '..data')));
    await rm(data, { recursive: true });
    await expect(readConfigDirectory(folder)).rejects.toThrow(`${data}: no such file or directory`);
  });

  it('names a file of a volume by the path of its key', async () => {
    await new ConfigVolume(folder).put({ key: 'x'.repeat(1024 * 1024 + 1) });
    await expect(readConfigDirectory(folder)).rejects.toEqual(
      new ConfigDirectoryError(`${join(folder, 'key')}: larger than 1048576 bytes`),
    );
  });

  it('never mixes the files of two swaps', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const volume = new ConfigVolume(folder);
    const put = (generation: number) =>
      volume.put(Object.fromEntries(names.map((name) => [name, String(generation)])));
    await put(0);
    let generation = 0;
    const swapping = (async () => {
      while (generation < 20) await put(++generation);
    })();
    do {
      try {
        const { files } = await readConfigDirectory(folder);
        expect(new Set(files.values()).size).toBe(1);
      } catch (error) {
        // Refusing a volume that changes all the time is the other valid outcome.
        expect(error).toEqual(new ConfigChangingError(`${folder}: changes while it is read`));
      }
    } while (generation < 20);
    await swapping;
    expect((await readConfigDirectory(folder)).files.get('f')).toBe('20');
  });

  it('gives up a directory that changes during each of its reads', async () => {
    await new ConfigVolume(folder).put({ key: '1' });
    const link = join(folder, '..data');
    const data = readlinkSync(link);
    let next: NodeJS.Immediate | undefined;
    // In each turn of the event loop, so that no read finds the same link twice.
    const swap = (count: number) => {
      symlinkSync(`${'./'.repeat(1 + (count % 100))}${data}`, `${link}_next`);
      renameSync(`${link}_next`, link);
      next = setImmediate(swap, count + 1);
    };
    swap(0);
    try {
      await expect(readConfigDirectory(folder)).rejects.toEqual(
        new ConfigChangingError(`${folder}: changes while it is read`),
      );
    } finally {
      clearImmediate(next);
    }
  });

  it('returns the empty version for a directory without files', async () => {
    expect(await readConfigDirectory(folder)).toEqual({ version: '', files: new Map() });
  });

  const refusals: [string, string, (path: string) => Promise<unknown>][] = [
    ['a file that is not UTF-8', 'not valid UTF-8', (path) => writeFile(path, '\xff', 'latin1')],
    [
      'a link to nothing in a plain directory',
      'no such file or directory',
      (path) => symlink('nowhere', path),
    ],
    ['a circle of links', 'too many levels of symbolic links', (path) => symlink('bad', path)],
    [
      'a file of more than a megabyte',
      'larger than 1048576 bytes',
      (path) => writeFile(path, 'x'.repeat(1024 * 1024 + 1)),
    ],
    [
      'a pipe, without waiting for a writer',
      'not a plain file',
      (path) => Promise.resolve(execFileSync('mkfifo', [path])),
    ],
  ];
  it.each(refusals)('refuses %s and names it', async (_what, reason, create) => {
    await create(join(folder, 'bad'));
    await expect(readConfigDirectory(folder)).rejects.toEqual(
      new ConfigDirectoryError(`${join(folder, 'bad')}: ${reason}`),
    );
  });

  it('refuses more files than a ConfigMap has', async () => {
    for (let index = 0; index < 257; index++) await writeFile(join(folder, `f${index}`), '');
    await expect(readConfigDirectory(folder)).rejects.toThrow(`${folder}: more than 256 files`);
  });

  it('refuses files that are too large together', async () => {
    for (let index = 0; index < 5; index++) {
      await writeFile(join(folder, `f${index}`), 'x'.repeat(1024 * 1024));
    }
    await expect(readConfigDirectory(folder)).rejects.toThrow('more than 4194304 bytes');
  });

  it.each([
    ['missing', 'no such file or directory'],
    ['file', 'not a directory'],
  ])('refuses a directory that is %s', async (name, reason) => {
    await writeFile(join(folder, 'file'), '');
    const path = join(folder, name);
    await expect(readConfigDirectory(path)).rejects.toThrow(`${path}: ${reason}`);
  });
});
