import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TemporaryFolder } from '@kube-dns/testkit';
import { CorefileError } from './corefile-error.js';
import { importsOnDisk } from './import-files.js';

let folder: TemporaryFolder;
beforeEach(() => {
  folder = new TemporaryFolder();
});
afterEach(() => folder.close());

const find = (pattern: string) => importsOnDisk(join(folder.path, 'Corefile'))(pattern);

describe('the files that a Corefile imports', () => {
  it('are found beside it by a pattern, in the order of their names, without folders', () => {
    for (const name of ['b.conf', 'a.conf', 'c.txt']) folder.file(name, name);
    mkdirSync(join(folder.path, 'd.conf'));
    expect(find('*.conf').map(({ text }) => text)).toEqual(['a.conf', 'b.conf']);
    expect(find(join(folder.path, 'c.txt'))).toHaveLength(1);
    expect(find('absent/*')).toEqual([]);
  });

  it.each([
    ['*.*', 'import *.*: it has more than one wildcard'],
    ['large', /^cannot read .*large: larger than 1048576 bytes$/],
    ['large/x', /^cannot read .*large: not a directory$/],
  ])('are refused for %j', (pattern, message) => {
    folder.file('large', 'x'.repeat(1024 * 1024 + 1));
    expect(() => find(pattern)).toThrow(CorefileError);
    expect(() => find(pattern)).toThrow(message);
  });
});
