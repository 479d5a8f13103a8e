import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isAlive, RunningProgram, until } from '@kube-dns/testkit';

const execute = promisify(execFile);
const PACKAGE = fileURLToPath(new URL('..', import.meta.url));

let folder: string;
let program: string;

async function bundle(name: string, text: string): Promise<string> {
  const entry = join(folder, `${name}.ts`);
  writeFileSync(entry, text);
  const path = join(folder, `${name}.cjs`);
  await execute(process.execPath, [join(PACKAGE, 'bundle.mjs'), entry, path], { cwd: PACKAGE });
  return path;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kube-dns-bundle-'));
  program = await bundle('sample', 'const answer: number = 42;\nconsole.log(answer);\n');
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the bundle on a Node that reports another version. */
async function runOn(version: string): Promise<{ status: number; stdout: string; stderr: string }> {
  const preload = join(folder, 'preload.cjs');
  writeFileSync(
    preload,
    `Object.defineProperty(process, 'versions', { value: { node: '${version}' } });
     Object.defineProperty(process, 'version', { value: 'v${version}' });`,
  );
  const run = execute(process.execPath, ['--require', preload, program]);
  const { stdout, stderr } = await run.catch((error: unknown) => error as Awaited<typeof run>);
  return { status: run.child.exitCode ?? -1, stdout, stderr };
}

describe('a bundled program', () => {
  it.each(['20.20.2', '22.18.0'])('prints one line when Node %s is too old', async (version) => {
    const { status, stdout, stderr } = await runOn(version);
    expect(status).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toBe(`sample: needs Node 22.19 or newer, this is v${version}\n`);
  });

  it.each(['22.19.0', '24.0.0', '26.1.0'])('runs on Node %s', async (version) => {
    expect(await runOn(version)).toEqual({ status: 0, stdout: '42\n', stderr: '' });
  });

  it('ends with the shell in which npx runs it', async () => {
    const endless = await bundle(
      'endless',
      'setInterval(() => 0, 1_000); console.log(process.pid);',
    );
    const env = { npm_command: 'exec' };
    const shell = new RunningProgram('sh', 'sh', ['-c', `"${endless}"; true`], { env });
    const pid = Number((await shell.waitForLine(/^\d+$/m))[0]);
    await shell.close('SIGKILL');
    await until('the end', () => !isAlive(pid));
  });

  it('can be started as a command', async () => {
    const { stdout } = await execute(program, []);
    expect(stdout).toBe('42\n');
  });
});
