import { afterEach, describe, expect, it } from '@jest/globals';
import { ownedBy, TemporaryFolder } from '@kube-dns/testkit';
import { StartupError } from './errors.js';
import { readTsigKey } from './startup-files.js';

const own = ownedBy(afterEach);

describe('the key file', () => {
  it('is none without a path', () => {
    expect(readTsigKey('', 3)).toBeUndefined();
  });

  it('that is a folder ends the start', () => {
    const { path } = own(new TemporaryFolder());
    const read = () => readTsigKey(path, 3);
    expect(read).toThrow(new StartupError(`cannot read ${path}: is a directory`, 3));
  });

  it('that has no key ends the start, and its text is not shown', () => {
    const path = own(new TemporaryFolder()).file('a.key', 'SECRET');
    const read = () => readTsigKey(path, 3);
    expect(read).toThrow(`${path} is no TSIG key file: `);
    expect(read).not.toThrow('SECRET');
  });
});
