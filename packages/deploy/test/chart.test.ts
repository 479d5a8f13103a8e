import { readdirSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { runProgram, TemporaryFolder } from '@kube-dns/testkit';
import { ROOT } from './support/root.js';

it.concurrent.each([
  [['--help'], 0],
  [['--hlep'], 2],
  [['a', '--x'], 2],
])('npm run chart -- %j ends with %i and writes nothing', async (words, status) => {
  const folder = new TemporaryFolder();
  try {
    const args = [`${ROOT}packages/cli/chart.mjs`, ...words];
    const made = await runProgram(process.execPath, args, { cwd: folder.path });
    expect(made.end).toBe(status);
    expect(`${made.stdout}${made.stderr}`).toContain('npm run chart -- ');
    expect(readdirSync(folder.path)).toEqual([]);
  } finally {
    await folder.close();
  }
});
