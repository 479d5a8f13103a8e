import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runProgram, TemporaryFolder } from '@kube-dns/testkit';
import { ROOT } from './support/root.js';

const launchers = readdirSync(`${ROOT}packages`).flatMap((name) => {
  const folder = `${ROOT}packages/${name}/bin`;
  try {
    return readdirSync(folder)
      .filter((file) => file.endsWith('.cjs'))
      .map((file) => join(folder, file));
  } catch {
    return [];
  }
});

describe('what starts a program of the checkout', () => {
  let folder: TemporaryFolder;
  /** A Node that says which one it is. */
  const writeNode = (path: string, name: string) => {
    writeFileSync(path, `#!/bin/sh\nexec env OWN=${name} "${process.execPath}" "$@"\n`);
    chmodSync(path, 0o755);
  };

  beforeAll(() => {
    folder = new TemporaryFolder();
    for (const each of ['path', 'program/bin', 'program/dist', 'modules']) {
      mkdirSync(join(folder.path, each), { recursive: true });
    }
    const [first = ''] = launchers;
    const text = readFileSync(first, 'utf8').replace(/dist\/[\w-]+/, 'dist/program');
    const launcher = join(folder.path, 'program/bin/program.cjs');
    writeFileSync(launcher, text);
    chmodSync(launcher, 0o755);
    writeFileSync(
      join(folder.path, 'program/dist/program.cjs'),
      'console.log(process.env.OWN, ...process.execArgv, ...process.argv.slice(2));\n',
    );
    symlinkSync(launcher, join(folder.path, 'modules/program'));
    writeNode(join(folder.path, 'path/node'), 'path');
  });
  afterAll(() => folder.close());

  const run = async (program: string) => {
    const env = { PATH: `${join(folder.path, 'path')}:/usr/bin:/bin` };
    const { stdout } = await runProgram(join(folder.path, program), ['a b'], { env });
    return stdout;
  };

  it('is the same for each program', () => {
    expect(launchers.length).toBeGreaterThanOrEqual(6);
    const lines = launchers.map((file) => readFileSync(file, 'utf8').split('\n').slice(0, 2));
    expect(new Set(lines.map((each) => each.join('\n'))).size).toBe(1);
  });

  it('takes the Node of the PATH, and the one beside itself where there is one, as npx does', async () => {
    expect(await run('modules/program')).toBe('path --disable-sigusr1 a b\n');
    expect(await run('program/bin/program.cjs')).toBe('path --disable-sigusr1 a b\n');
    writeNode(join(folder.path, 'modules/node'), 'beside');
    expect(await run('modules/program')).toBe('beside --disable-sigusr1 a b\n');
  });
});
