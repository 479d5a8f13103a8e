import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestAuthority } from '@kube-dns/testkit';
import { StartupError } from './errors.js';
import { readTlsCa } from './startup-files.js';

let folder: string;
let file: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tls-ca-'));
  file = join(folder, 'ca.pem');
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('the file of --tls-ca', () => {
  it('is the system’s certificates where none is named', () => {
    expect(readTlsCa('', 3)).toBeUndefined();
  });

  it('has certificates, between which there may be other text', () => {
    const certificates = [new TestAuthority('one').cert, new TestAuthority('two').cert];
    writeFileSync(file, ['# one', certificates[0], '# two', certificates[1]].join('\n'));
    expect(readTlsCa(file, 3)?.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  });

  it.each([
    ['', /^\S*ca\.pem has no certificate/],
    ['-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n', /has no certificate/],
    [
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
      /^certificate 1 in \S*ca\.pem cannot be read: ./,
    ],
  ])('ends the program with the file and the reason: %j', (text, message) => {
    writeFileSync(file, text);
    expect(() => readTlsCa(file, 3)).toThrow(StartupError);
    expect(() => readTlsCa(file, 3)).toThrow(message);
  });

  it('ends the program where it cannot be read', () => {
    const path = join(folder, 'none.pem');
    expect(() => readTlsCa(path, 3)).toThrow(`cannot read ${path}: no such file or directory`);
  });
});
