import { execFileSync } from 'node:child_process';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { symlinkSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ownedBy, TemporaryFolder } from '@kube-dns/testkit';
import { readTextFile } from './text-file.js';

const own = ownedBy(afterEach);
const MIB = 1024 * 1024;

function folder(): TemporaryFolder {
  return own(new TemporaryFolder());
}

describe('a file of settings', () => {
  it('is a regular file, also behind links as those of a ConfigMap, or /dev/null', () => {
    const files = folder();
    const path = files.file('settings', 'port=53\n');
    const link = join(files.path, 'link');
    symlinkSync(path, link);
    expect(readTextFile(path)).toBe('port=53\n');
    expect(readTextFile(link)).toBe('port=53\n');
    expect(readTextFile('/dev/null')).toBe('');
  });

  it('is read where it has no size, as in /proc', () => {
    expect(readTextFile('/proc/self/status')).toContain('VmSize');
  });

  it('that is missing, or a directory, is the error of the system', () => {
    const files = folder();
    expect(() => readTextFile(join(files.path, 'missing'))).toThrow(/ENOENT/);
    expect(() => readTextFile(files.path)).toThrow(/EISDIR/);
  });

  it('finding 11: is no pipe, which may have no writer', () => {
    const path = join(folder().path, 'pipe');
    execFileSync('mkfifo', [path]);
    expect(() => readTextFile(path)).toThrow('not a regular file, but a pipe');
  });

  it.each(['/dev/zero', '/dev/random', '/dev/full'])('finding 11: is not %s', (path) => {
    expect(() => readTextFile(path)).toThrow('not a regular file, but a device');
  });

  it('finding 11: is no socket', async () => {
    const path = join(folder().path, 'socket');
    const server = createServer().listen(path);
    await once(server, 'listening');
    expect(() => readTextFile(path)).toThrow('not a regular file, but a socket');
    server.close();
  });

  it('finding 11: of 3 GiB is refused by its size', () => {
    const path = folder().file('sparse', '');
    truncateSync(path, 3 * 1024 * MIB);
    expect(() => readTextFile(path)).toThrow(`larger than ${MIB} bytes`);
  });

  it('finding 11: without a size is read to its bound', () => {
    expect(() => readTextFile('/proc/self/status', 100)).toThrow('larger than 100 bytes');
  });

  it('has the bound of its reader', () => {
    const path = folder().file('settings', 'x'.repeat(11));
    expect(readTextFile(path, 11)).toHaveLength(11);
    expect(() => readTextFile(path, 10)).toThrow('larger than 10 bytes');
  });
});
