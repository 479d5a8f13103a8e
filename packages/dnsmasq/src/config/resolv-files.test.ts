import { execFileSync } from 'node:child_process';
import { unlinkSync } from 'node:fs';
import { afterEach, expect, it } from '@jest/globals';
import { ownedBy, TemporaryFolder } from '@kube-dns/testkit';
import { recordedLog } from '../../test/recorded-log.js';
import { ResolvFiles } from './resolv-files.js';

const own = ownedBy(afterEach);

it('keeps the servers when a pipe takes the place of the file, and does not wait for it', () => {
  const path = own(new TemporaryFolder()).file('resolv.conf', 'nameserver 9.0.0.1\n');
  const log = recordedLog();
  const files = own(new ResolvFiles({ paths: [path], log }));
  const servers = files.read();
  expect(servers).toHaveLength(1);
  unlinkSync(path);
  execFileSync('mkfifo', [path]);
  expect(files.read()).toBe(servers);
  expect(log.messages).toEqual([
    `reading ${path}`,
    `failed to access ${path}: not a regular file, but a pipe`,
  ]);
});
