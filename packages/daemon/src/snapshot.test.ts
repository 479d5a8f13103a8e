import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TemporaryFolder } from '@kube-dns/testkit';
import {
  decodeSnapshot,
  encodeSnapshot,
  SnapshotFile,
  type SnapshotHeader,
  type SnapshotRules,
} from './snapshot.js';

interface Header extends SnapshotHeader {
  readonly cluster: string;
}

const NOW_MS = 1_000_000_000;
const LINES = ['one', '', 'dr\u00e9i \u{1f600}', 'x'.repeat(100_000)];
let folder: TemporaryFolder;
let logged: string[];
let file: SnapshotFile;

beforeEach(() => {
  folder = new TemporaryFolder();
  logged = [];
  file = fileAt(join(folder.path, 'snapshot'));
});
afterEach(() => folder.close());

function headerOf(writtenMs = NOW_MS, cluster = ''): Header {
  return { kind: 'kubedns', writtenMs, cluster };
}

function fileAt(path: string, more: Partial<SnapshotRules> = {}): SnapshotFile {
  const log = {
    info: (line: string) => logged.push(line),
    warn: (line: string) => logged.push(line),
  };
  const rules = { kind: 'kubedns', maxAgeMs: 60_000, now: () => NOW_MS, ...more };
  return new SnapshotFile({ path, log, ...rules });
}

async function bytesOf(
  header: Partial<Header> = {},
  lines: Iterable<string> = LINES,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const all = { kind: 'kubedns', writtenMs: NOW_MS, cluster: 'c', ...header };
  for await (const chunk of encodeSnapshot(all, lines)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function read(from = file): Promise<readonly string[] | undefined> {
  const snapshot = await from.read<Header>();
  if (snapshot === undefined) return undefined;
  const lines: string[] = [];
  for await (const line of snapshot.lines) lines.push(line);
  return lines;
}

describe('a snapshot file', () => {
  it('gives back what was written, and takes the place of the one before', async () => {
    expect(await file.write(headerOf(NOW_MS - 5, 'a'), ['old'])).toBe(true);
    expect(await file.write(headerOf(NOW_MS - 1, 'b'), LINES)).toBe(true);
    const { header } = (await file.read<Header>())!;
    expect(header).toEqual({ kind: 'kubedns', writtenMs: NOW_MS - 1, cluster: 'b' });
    expect(await read()).toEqual(LINES);
    expect(statSync(file.path).mode & 0o777).toBe(0o600);
    expect([logged, readdirSync(folder.path)]).toEqual([[], ['snapshot']]);
  });

  it('is not there at first, which is no line', async () => {
    expect(await read()).toBeUndefined();
    expect(logged).toEqual([]);
  });

  it.each([
    ['of another program', { kind: 'dnsmasq' }, /^it is of dnsmasq, not of kubedns$/],
    ['that is too old', { writtenMs: NOW_MS - 61_000 }, /^it is older than 60 s$/],
    [
      'of a time to come',
      { writtenMs: NOW_MS + 301_000 },
      /^it is of a time to come, by this clock$/,
    ],
  ])('%s is not used', async (_, header, reason) => {
    writeFileSync(file.path, await bytesOf(header));
    expect(await read()).toBeUndefined();
    expect(file.failure).toMatch(reason);
    await read();
    expect(logged).toEqual([`snapshot ${file.path} is not used: ${file.failure}`]);
  });

  it('is of no use cut anywhere, or with any byte changed', async () => {
    const whole = await bytesOf({}, ['a', 'b']);
    const rules = { kind: 'kubedns', maxAgeMs: 60_000, now: () => NOW_MS };
    for (let at = 0; at < whole.length; at++) {
      expect(() => decodeSnapshot(whole.subarray(0, at), rules)).toThrow(/no snapshot|checksum/);
      const changed = Buffer.from(whole);
      changed[at]! ^= 1;
      expect(() => decodeSnapshot(changed, rules)).toThrow(/no snapshot|checksum/);
    }
    expect(() => decodeSnapshot(whole, rules)).not.toThrow();
  });

  it.each([
    ['JSON of another shape', '[]'],
    ['no JSON', '{'],
    ['null', 'null'],
  ])('with a header that is %s is not used', async (_, text) => {
    const { createHash } = await import('node:crypto');
    const content = Buffer.from(`${text}\n`);
    writeFileSync(
      file.path,
      Buffer.concat([
        content,
        Buffer.alloc(1),
        createHash('sha256').update(content).update(Buffer.alloc(1)).digest(),
      ]),
    );
    expect(await read()).toBeUndefined();
    expect(file.failure).toMatch(/^its header/);
  });

  it('that is a folder, a link to one, or unreadable is one line', async () => {
    mkdirSync(file.path);
    expect(await read()).toBeUndefined();
    expect(file.failure).not.toBe('');
  });

  it('takes the place of a link, and is not written through it', async () => {
    const victim = join(folder.path, 'victim');
    writeFileSync(victim, 'mine');
    symlinkSync(victim, file.path);
    expect(await file.write(headerOf(), LINES)).toBe(true);
    expect(readFileSync(victim, 'utf8')).toBe('mine');
    expect(lstatSync(file.path).isFile()).toBe(true);
  });

  it('is whole when two processes write it at the same time', async () => {
    const other = fileAt(file.path);
    for (let i = 0; i < 10; i++) {
      const writes = [file, other].map((each, at) =>
        each.write(headerOf(NOW_MS, `${i}-${at}`), [...LINES, String(at)]),
      );
      expect(await Promise.all(writes)).toEqual([true, true]);
      expect((await read())?.slice(0, -1)).toEqual(LINES);
    }
    expect(readdirSync(folder.path)).toEqual(['snapshot']);
  });

  it('has what killed processes have left beside it removed, not what one still writes', async () => {
    const names = ['snapshot.0a.new', 'snapshot.0b.new', 'other.0a.new', 'snapshot.old'];
    for (const name of names) {
      folder.file(name, '');
      if (name !== 'snapshot.0b.new') utimesSync(join(folder.path, name), 1, 1);
    }
    await file.write(headerOf(), LINES);
    expect(readdirSync(folder.path).sort()).toEqual(
      ['snapshot', ...names.filter((name) => name !== 'snapshot.0a.new')].sort(),
    );
  });

  it('stays when the next one cannot be written, which is one line until it can be', async () => {
    await file.write(headerOf(), LINES);
    const failing = fileAt(join(folder.path, 'none', 'snapshot'));
    for (let i = 0; i < 2; i++) expect(await failing.write(headerOf(), LINES)).toBe(false);
    expect(logged).toEqual([`snapshot ${failing.path} is not written: no such file or directory`]);
    mkdirSync(join(folder.path, 'none'));
    expect(await failing.write(headerOf(), LINES)).toBe(true);
    expect(logged.at(-1)).toBe(`snapshot ${failing.path}: it is written again`);
    const broken = (function* () {
      yield 'a';
      throw new Error('the records are gone');
    })();
    expect(await file.write(headerOf(), broken)).toBe(false);
    expect(file.failure).toBe('the records are gone');
    expect(await read()).toEqual(LINES);
  });

  it('with more content than its program takes is not used, and not read to its end', async () => {
    const limited = fileAt(file.path, { maxContentBytes: 200_000 });
    writeFileSync(file.path, await bytesOf({}, ['x'.repeat(99_999), 'y'.repeat(99_999)]));
    expect(await read(limited)).toHaveLength(2);
    // One long line of a file that is small.
    writeFileSync(file.path, await bytesOf({}, ['x'.repeat(200_000_000)]));
    await expect(read(limited)).rejects.toThrow('its content has more than 200000 bytes');
    writeFileSync(file.path, Buffer.alloc(400_000));
    expect(await read(limited)).toBeUndefined();
    expect(limited.failure).toBe('it has more than 331072 bytes');
  });

  it('whose content ends early is said while it is read', async () => {
    const { createHash } = await import('node:crypto');
    const whole = await bytesOf();
    const cut = whole.subarray(0, whole.length - 40);
    writeFileSync(file.path, Buffer.concat([cut, createHash('sha256').update(cut).digest()]));
    await expect(read()).rejects.toMatchObject({ code: 'snapshot' });
    truncateSync(file.path, 0);
    chmodSync(file.path, 0o600);
    expect(await read()).toBeUndefined();
  });
});
