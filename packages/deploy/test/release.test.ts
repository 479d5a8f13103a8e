import { readdirSync } from 'node:fs';
import { afterEach, expect, it } from '@jest/globals';
import { ownedBy, runProgram, TemporaryFolder } from '@kube-dns/testkit';
import { ROOT } from './support/root.js';

const own = ownedBy(afterEach);

/** The command in a folder of its own, with these files in its folder `release`. */
async function release(args: readonly string[], files: readonly string[] = [], env = {}) {
  const folder = own(new TemporaryFolder());
  for (const name of files) folder.file(name, '');
  const words = [`${ROOT}packages/deploy/release.mjs`, ...args, `--out=${folder.path}`];
  const ran = await runProgram(process.execPath, words, { env, inheritsEnv: true });
  expect(readdirSync(folder.path)).toEqual(files);
  return ran;
}

it('npm run release -- --help names each option', async () => {
  const { end, stdout } = await release(['--help']);
  expect([end, stdout]).toEqual([0, expect.stringContaining('npm run release -- --dry-run')]);
});

it.each([
  [[], 'release: give --dry-run: only .github/workflows/release.yml publishes'],
  [['--dry-run', '--only=cli,x'], 'release: --only: x is none of cli, chart, manifests, images'],
  [
    ['--dry-run', '--platform=linux/arm'],
    'release: --platform: linux/arm is none of linux/amd64, linux/arm64',
  ],
  [['--dry-run', '--fast'], "release: Unknown option '--fast'"],
])('npm run release -- %j ends with 2 and one line, and makes nothing', async (args, message) => {
  const { end, stderr } = await release(args);
  expect([end, stderr]).toEqual([2, `${message}; see npm run release -- --help\n`]);
});

it('npm run release leaves a folder alone that has files of no release', async () => {
  const { end, stderr } = await release(['--dry-run', '--only=chart'], ['mine']);
  expect(end).toBe(1);
  expect(stderr).toMatch(
    /^release: .* has files that are of no release: name another with --out\n$/,
  );
});

it('npm run release refuses a time that is none', async () => {
  const env = { SOURCE_DATE_EPOCH: 'today' };
  const { end, stderr } = await release(['--dry-run', '--only=chart'], [], env);
  expect([end, stderr]).toEqual([
    1,
    'release: SOURCE_DATE_EPOCH=today is not a number of seconds\n',
  ]);
});
