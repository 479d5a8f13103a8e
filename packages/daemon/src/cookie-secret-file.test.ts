import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TemporaryFolder, until } from '@kube-dns/testkit';
import { CookieSecretFile } from './startup-files.js';
import { StartupError } from './errors.js';

const SECRET = '00112233445566778899aabbccddeeff';
const OTHER = 'FF112233445566778899aabbccddeeff';

let folder: TemporaryFolder;
let path: string;
let seen: string[];
let logged: string[];
let followed: CookieSecretFile | undefined;

beforeEach(() => {
  folder = new TemporaryFolder();
  path = `${folder.path}/secrets`;
  seen = [];
  logged = [];
});

afterEach(async () => {
  followed?.close();
  await folder.close();
});

function follow(text: string, periodMs?: number): CookieSecretFile {
  writeFileSync(path, text);
  const log = (line: string) => void logged.push(line);
  followed = new CookieSecretFile({
    path,
    exitCode: 3,
    log: { info: log, error: log },
    ...(periodMs !== undefined && { periodMs }),
    cookies: {
      use: (all) => seen.push(all.map((each) => Buffer.from(each).toString('hex')).join()),
    },
  });
  return followed;
}

describe('a file of cookie secrets', () => {
  it.each([
    [SECRET, SECRET],
    [`${SECRET}\r\n${OTHER}\n\n`, `${SECRET},${OTHER.toLowerCase()}`],
  ])('has one or two of them', (text, expected) => {
    follow(text);
    expect(seen).toEqual([expected]);
  });

  it.each([
    ['', '1: a cookie secret has 32 hexadecimal digits'],
    [`${SECRET}\n\n${OTHER}`, '2: a cookie secret has 32 hexadecimal digits'],
    [`${SECRET}\n${OTHER}0`, '2: a cookie secret has 32 hexadecimal digits'],
    [`${SECRET}\n${OTHER}\n${SECRET}`, '3: more than 2 cookie secrets'],
  ])('stops the start when it is bad', (text, reason) => {
    expect(() => follow(text)).toThrow(new StartupError(`${path}:${reason}`, 3));
  });

  it('stops the start when it is missing', () => {
    path = `${folder.path}/missing/secrets`;
    const log = { info: () => undefined, error: () => undefined };
    const cookies = { use: () => undefined };
    const open = () => new CookieSecretFile({ path, exitCode: 3, log, cookies });
    expect(open).toThrow(new StartupError(`cannot read ${path}: no such file or directory`, 3));
  });

  it('is read again; a bad one is logged once, and the last good one stays', () => {
    const file = follow(SECRET);
    file.reload();
    writeFileSync(path, 'bad');
    file.reload();
    file.reload();
    writeFileSync(path, `${OTHER}\n${SECRET}`);
    file.reload();
    expect(seen).toEqual([SECRET, `${OTHER.toLowerCase()},${SECRET}`]);
    expect(logged).toEqual([
      `${path}:1: a cookie secret has 32 hexadecimal digits; the last cookie secrets stay active`,
      `the cookie secrets of ${path} changed`,
    ]);
    expect(logged.join()).not.toContain(SECRET);
  });

  it('is read again by itself', async () => {
    follow(SECRET, 10);
    writeFileSync(path, OTHER);
    await until(() => seen.length === 2);
  });
});
