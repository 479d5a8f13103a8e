import { execFileSync } from 'node:child_process';
import { afterEach, expect, it } from '@jest/globals';
import { ownedBy, TemporaryFolder } from '@kube-dns/testkit';
import { readTextFile } from './startup-files.js';

const own = ownedBy(afterEach);

it('reads files and devices, and says why it cannot', () => {
  const folder = own(new TemporaryFolder());
  expect(readTextFile(folder.file('settings', 'port=53\n'))).toBe('port=53\n');
  expect(readTextFile('/dev/null')).toBe('');
  expect(() => readTextFile(`${folder.path}/missing`)).toThrow(/ENOENT/);
  expect(() => readTextFile(folder.path)).toThrow(/EISDIR/);
});

it('does not wait for a pipe that has no writer', () => {
  const path = `${own(new TemporaryFolder()).path}/pipe`;
  execFileSync('mkfifo', [path]);
  expect(() => readTextFile(path)).toThrow('it is a pipe');
});
